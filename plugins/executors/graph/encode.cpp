#include "encode.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace tenon::graph_executor {
namespace {

using Json = nlohmann::json;  // keys are sorted: the text does not depend on the order of insertion

Json place(const ArgPlace& a) {
  static constexpr const char* bases[] = {"pool", "input", "output"};
  return Json::array({bases[static_cast<unsigned>(a.kind)], a.index, a.offset, a.bytes});
}

Json tensor(const ExecIo& io) {
  Json dims = Json::array();
  for (const Dim& d : io.type.dims) dims.push_back(d.value());
  Json j{{"name", io.name},
         {"dtype", name(io.type.dtype)},
         {"dims", dims},
         {"bytes", byte_size(io.type).value_or(0)},
         {"align", io.align}};
  if (io.planned) j["place"] = place(io.place);
  if (io.state) j["state"] = true;
  return j;
}

Json kernel(const ExecKernel& k, const std::vector<std::uint64_t>& args) {
  Json j{{"symbol", k.symbol}, {"args", args},     {"inputs", k.n_inputs},
         {"extent", k.extent}, {"grain", k.grain}, {"work", k.work}};
  if (k.worker_bytes > 0)
    j["worker"] = Json::array({k.worker_pool, k.worker_offset, k.worker_bytes});
  return j;
}

Json steps(const std::vector<ExecStep>& list);

Json step(const ExecStep& s) {
  static constexpr const char* kinds[] = {"call", "copy", "branch", "loop"};
  Json args = Json::array();
  for (const ArgPlace& a : s.args) args.push_back(place(a));
  Json j{{"name", s.name}, {"kind", kinds[static_cast<unsigned>(s.kind)]}, {"args", args}};
  if (!s.values.empty()) j["values"] = s.values;
  if (s.kind == ExecStep::Kind::call) j["kernel"] = s.kernel;
  if (s.kind == ExecStep::Kind::branch) {
    j["then"] = steps(s.then_steps);  // branches nest to at most 64
    j["else"] = steps(s.else_steps);
  }
  if (s.kind == ExecStep::Kind::loop) j["body"] = steps(s.then_steps);
  return j;
}

Json steps(const std::vector<ExecStep>& list) {
  Json out = Json::array();
  for (const ExecStep& s : list) out.push_back(step(s));
  return out;
}

/// Bytes of each argument, by kernel: all calls of a kernel agree, it was compiled for these sizes.
using ArgSizes = std::vector<std::optional<std::vector<std::uint64_t>>>;

Status collect_sizes(const std::vector<ExecStep>& list, const ExecProgram& p, ArgSizes& out) {
  for (const ExecStep& s : list) {  // branches nest to at most 64
    for (const auto* arm : {&s.then_steps, &s.else_steps})
      if (Status inner = collect_sizes(*arm, p, out); !inner) return inner;
    if (s.kind != ExecStep::Kind::call) continue;
    std::vector<std::uint64_t> sizes;
    for (const ArgPlace& a : s.args) sizes.push_back(a.bytes);
    auto& known = out.at(s.kernel);
    if (!known) known = sizes;
    if (*known != sizes)
      return Diag{.code = 9063,
                  .what = fmt::format("step '{}' calls kernel '{}' with arguments of other sizes "
                                      "than an earlier step: {} bytes, {} bytes",
                                      s.name, p.kernels[s.kernel].symbol, fmt::join(sizes, ", "),
                                      fmt::join(*known, ", "))};
  }
  return {};
}

Json pool(const ExecProgram& p, std::uint32_t i) {
  static constexpr const char* kinds[] = {"data", "constants", "worker"};
  const ExecPool& x = p.pools[i];
  Json j{{"id", x.id},
         {"bytes", x.bytes},
         {"align", x.align},
         {"kind", kinds[static_cast<unsigned>(x.kind)]}};
  if (std::string image = image_name(p, i); !image.empty()) j["image"] = image;
  return j;
}

Json features(const std::string& list) {
  Json out = Json::array();
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    out.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

/// What the format cannot say.
Status check(const ExecProgram& p, const std::vector<std::string>& objects) {
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const ExecIo& io : *list)
      if (!io.type.is_static() || !byte_size(io.type))
        return Diag{
            .code = 6201,
            .what = fmt::format(
                "'{}' has type {}: the graph executor takes shapes that are known at compile time",
                io.name, to_string(io.type)),
            .fix = "give the model's symbolic dims a value when importing it"};
  if (!p.kernels.empty() && objects.empty())
    return Diag{
        .code = 6202,
        .what = fmt::format("{} kernels and no shared object that holds them", p.kernels.size()),
        .fix = "the graph executor needs a target that writes a shared object, such as tenon.llvm"};
  return {};
}

/// A name that is no UTF-8 gets U+FFFD for what cannot be read.
std::string text(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// One step per line: a program file is read by people too, and compared by line.
std::string layout(const Json& j) {
  std::string out = "{\n";
  bool first = true;
  for (const auto& [key, value] : j.items()) {
    out += fmt::format("{} \"{}\": ", first ? "" : ",\n", key);
    first = false;
    if (!value.is_array() || value.empty()) {
      out += text(value);
      continue;
    }
    out += "[";
    for (std::size_t i = 0; i < value.size(); ++i) out += (i ? ",\n  " : "\n  ") + text(value[i]);
    out += "\n ]";
  }
  return out + "\n}\n";
}

}  // namespace

Result<std::string> encode_program(const ExecProgram& p, const std::vector<std::string>& objects) {
  std::vector<std::string> shared;
  for (const std::string& o : objects)
    if (o.ends_with(".so")) shared.push_back(o);
  if (Status s = check(p, shared); !s) return s.errors();
  ArgSizes sizes(p.kernels.size());
  if (Status s = collect_sizes(p.steps, p, sizes); !s) return s.errors();
  for (std::size_t k = 0; k < sizes.size(); ++k)
    if (const ExecKernel& x = p.kernels[k]; !sizes[k])  // never called
      sizes[k].emplace(x.n_inputs + x.n_outputs + x.n_shared, 0);
  Json j;
  j["format"] = {{"major", 1}, {"minor", 1}};
  j["model"] = p.model;
  j["request_hash"] = p.request_hash;
  j["target"] = {{"triple", p.target_triple},
                 {"cpu", p.target_cpu},
                 {"features", features(p.target_features)}};
  j["objects"] = shared;
  for (const char* key : {"inputs", "outputs", "pools", "constants", "kernels"})
    j[key] = Json::array();
  for (const ExecIo& io : p.inputs) j["inputs"].push_back(tensor(io));
  for (const ExecIo& io : p.outputs) j["outputs"].push_back(tensor(io));
  for (std::uint32_t i = 0; i < p.pools.size(); ++i) j["pools"].push_back(pool(p, i));
  for (const ExecConstant& c : p.constants)
    j["constants"].push_back(Json::array({c.pool, c.offset, c.data->bytes.size()}));
  for (std::size_t k = 0; k < p.kernels.size(); ++k)
    j["kernels"].push_back(kernel(p.kernels[k], *sizes[k]));
  j["steps"] = steps(p.steps);
  return layout(j);
}

std::string image_name(const ExecProgram& p, std::uint32_t i) {
  bool any = p.pools[i].kind == ExecPool::Kind::constants && p.pools[i].bytes > 0;
  for (const ExecConstant& c : p.constants) any |= c.pool == i && !c.data->bytes.empty();
  return any ? "constants." + p.pools[i].id + ".bin" : "";
}

std::string checksums(const ArtefactFiles& files) {
  std::string out;
  for (const auto& [name, bytes] : files) {
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (const FileBytes::Part& p : bytes.parts())
      XXH3_128bits_update(&state, p.bytes.data(), p.bytes.size());
    XXH128_canonical_t sum;
    XXH128_canonicalFromHash(&sum, XXH3_128bits_digest(&state));
    out += fmt::format("{:02x}  {}\n", fmt::join(sum.digest, ""), name);
  }
  return out;
}

}  // namespace tenon::graph_executor
