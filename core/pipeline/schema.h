// The keys of a pipeline file, as rows. The reader, the messages and the JSON Schema all come from
// here.
#ifndef TENON_CORE_PIPELINE_SCHEMA_H
#define TENON_CORE_PIPELINE_SCHEMA_H

#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tenon/options.h"

namespace tenon::schema {

/// A key whose value is more than a scalar or a list of text.
struct Key {
  std::string_view name;
  std::string_view doc;
  bool board = false;  ///< may stand in a board file
};

std::span<const Key> file_keys();

struct FileKeys {
  std::string board, extends, io = "caller";
  std::vector<std::string> keep;
  static constexpr auto fields() {
    return std::tuple{
        Field{"board", &FileKeys::board,
              "name or path of the board: targets, pools, reserved ranges"},
        Field{"extends", &FileKeys::extends, "name or path of the pipeline that this one changes"},
        Field{"io", &FileKeys::io, "who owns inputs and outputs: caller, or planned"},
        Field{"keep", &FileKeys::keep, "globs: values whose storage is not reused"}};
  }
};

struct PoolKeys {
  Bytes capacity, base, granule{1};
  double read = 0, write = 0;
  std::vector<std::string> holds;
  std::string image;
  static constexpr auto fields() {
    return std::tuple{
        Field{"capacity", &PoolKeys::capacity, "bytes; absent = no limit, 0 switches the pool off"},
        Field{"base", &PoolKeys::base, "address of its first byte; pins are then addresses"},
        Field{"granule",
              &PoolKeys::granule,
              "bytes; offsets and sizes are multiples of it; a power of two",
              {.min = 1, .max = 1 << 30}},
        Field{"read", &PoolKeys::read, "cycles per 8 bytes read"},
        Field{"write", &PoolKeys::write, "cycles per 8 bytes written"},
        Field{"holds", &PoolKeys::holds,
              "sorts of values: constants, data, worker; default: constants where no target may "
              "write, else data"},
        Field{"image", &PoolKeys::image, "pool from which constants are copied here at start"}};
  }
};

struct ReservedKeys {
  std::string pool, why;
  Bytes at, size;
  static constexpr auto fields() {
    return std::tuple{
        Field{"pool", &ReservedKeys::pool, "the pool"},
        Field{"at", &ReservedKeys::at, "address where the pool has a base, else offset"},
        Field{"size", &ReservedKeys::size, "bytes", {.min = 1}},
        Field{"why", &ReservedKeys::why, "what stands there, for messages"}};
  }
};

struct PlaceKeys {
  std::string value, role, on, op;
  std::vector<std::string> pools;
  Bytes at;
  bool optional = false;
  static constexpr auto fields() {
    return std::tuple{
        Field{"value", &PlaceKeys::value, "glob over value names"},
        Field{"role", &PlaceKeys::role,
              "input, output, constant, state, activation, scratch or worker"},
        Field{"on", &PlaceKeys::on, "target whose kernels use the value"},
        Field{"op", &PlaceKeys::op, "op or kernel that makes the value"},
        Field{"pools", &PlaceKeys::pools, "where it may live, in order of preference"},
        Field{"at", &PlaceKeys::at, "pin: address where the pool has a base, else offset"},
        Field{"optional", &PlaceKeys::optional, "no error when the rule matches nothing"}};
  }
};

struct StateKeys {
  std::string input, output;
  static constexpr auto fields() {
    return std::tuple{Field{"input", &StateKeys::input, "input of the model: the old value"},
                      Field{"output", &StateKeys::output, "output of the model: the new value"}};
  }
};

struct PluginKeys {
  std::string path, sha256;
  static constexpr auto fields() {
    return std::tuple{Field{"path", &PluginKeys::path, "the shared object; relative to this file"},
                      Field{"sha256", &PluginKeys::sha256, "refuse any other file: hash in hex"}};
  }
};

/// Keys that Tenon itself reads in a step; all others are options of the implementation.
struct StepKeys {
  std::string with, id;
  static constexpr auto fields() {
    return std::tuple{Field{"with", &StepKeys::with, "implementation of the slot"},
                      Field{"id", &StepKeys::id, "name of this step, where one name stands twice"}};
  }
};
struct LowerKeys {
  std::string compute, schedule, kernel;
  static constexpr auto fields() {
    return std::tuple{
        Field{"compute", &LowerKeys::compute, "implementation of region -> compute"},
        Field{"schedule", &LowerKeys::schedule, "implementation of compute -> schedule"},
        Field{"kernel", &LowerKeys::kernel, "implementation of schedule -> kernel"}};
  }
};
struct PlanKeys {
  std::int64_t work = 0;
  std::string deadline;
  static constexpr auto fields() {
    return std::tuple{Field{"work", &PlanKeys::work, "budget in work units", {.min = 1}},
                      Field{"deadline", &PlanKeys::deadline,
                            "wall clock, like 10s or 500ms; the plan is then not reproducible"}};
  }
};

/// Steps that bind an implementation. Every other name is a pass.
inline constexpr std::string_view slots[] = {"import", "lower", "plan", "emit"};

/// JSON Schema (draft 2020-12) of pipeline and board files; sdk/docs/schema/pipeline.schema.json is
/// this text.
std::string json_schema();

}  // namespace tenon::schema

#endif
