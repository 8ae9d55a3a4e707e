// What a pipeline file says, after its board, what it extends and `--set` have been taken in. Text
// -> value: whether the named implementations exist is validate.h's business.
//
// Precedence, later wins: defaults.yaml < board < extended file < file < --set. Maps merge key by
// key (a pool's and a target's too), lists are replaced as a whole, except `reserved`, whose ranges
// add up.
#ifndef TENON_CORE_PIPELINE_CONFIG_H
#define TENON_CORE_PIPELINE_CONFIG_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/support/files.h"
#include "tenon/diag.h"
#include "tenon/options.h"
#include "tenon/storage.h"

namespace tenon {

/// An implementation of a slot, and its options.
struct Binding {
  std::string with;  ///< as written, `tenon.` may be missing; "" = the only one there is
  Loc with_loc;
  std::map<std::string, std::string>
      parts;             ///< of `lower`: "compute", "schedule", "kernel" -> implementation
  OptionValues options;  ///< of the implementation; not yet checked against its rows
};

struct Step {
  std::string id;    ///< unique: `id:`, else the name; the second step of a name is `name.2`
  std::string name;  ///< a pass (`fuse-ops`, `acme.split`) or a slot: import, lower, plan, emit
  Loc loc;           ///< of the name
  Binding use;       ///< of a pass: `with` is empty
  std::vector<std::string> otherwise;  ///< `else` of `plan`: tried in order
  std::map<std::string, Binding> on;   ///< `on` of `lower`: by target id, overrides `use`
  std::optional<std::uint64_t> work;   ///< of `plan`: budget in work units
  std::optional<std::uint64_t>
      deadline_ms;  ///< of `plan`: wall clock; the plan is then not reproducible
  bool is_slot() const;
};

struct TargetConfig {
  std::string id;
  Binding use;
  Loc loc;
};

/// A plugin file that the pipeline names itself.
struct PluginConfig {
  std::string id;
  std::string path;    ///< relative paths have been resolved against the file that wrote them
  std::string sha256;  ///< pin: hex, or ""
  Loc loc;
};

struct PipelineConfig {
  std::string path;                ///< the pipeline file
  std::string board;               ///< the board file, or ""
  std::vector<std::string> files;  ///< all that were read, this one first
  bool is_board =
      false;  ///< the file holds facts of a device and no steps: good for `validate` and `fit`
  std::vector<TargetConfig> targets;
  MemoryConfig memory;
  std::vector<Step> steps;
  std::vector<PluginConfig> plugins;
  Diags warnings;

  const Step* step(std::string_view id) const;
};

struct LoadRequest {
  std::string pipeline;          ///< a name (`graph-cpu`) or a path (with `/`, or ending in .yaml)
  std::string board;             ///< name or path; replaces `board:` of the file; "" = leave it
  std::vector<std::string> set;  ///< KEY=VALUE, e.g. plan.tries=5, dtcm.capacity=64KiB, io=planned
  std::vector<std::string>
      share;  ///< folders with shipped pipelines, first wins; see share_folders()
  bool board_too = false;  ///< `pipeline` may also be the name of a board
};

/// 2xxx. All errors, sorted by place, at most 20.
Result<PipelineConfig> load_pipeline(const Files& files, const LoadRequest& request);

/// Folders that hold graph-cpu.yaml: <prefix>/share/tenon/pipelines of this library, or the source
/// tree it was built in.
std::vector<std::string> share_folders();

/// Names of the pipelines, or boards, in `share`, sorted.
std::vector<std::string> pipeline_names(const Files& files, const std::vector<std::string>& share);
std::vector<std::string> board_names(const Files& files, const std::vector<std::string>& share);

}  // namespace tenon

#endif
