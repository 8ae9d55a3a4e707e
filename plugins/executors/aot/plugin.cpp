// tenon.aot: the program as C, one model.c and one model.h, for devices without an operating
// system.
#include "tenon/plugin.h"

#include <fmt/format.h>

#include <cstring>

#include "comments.h"
#include "text.h"

namespace {

namespace aot = tenon::aot_executor;

struct AotOptions {
  std::string name;
  static constexpr auto fields() {
    return std::tuple{tenon::Field{
        "name", &AotOptions::name,
        "what functions and macros are called after: tenon_NAME_run; empty: the model's name"}};
  }
};

tenon::Status check(const tenon::ExecProgram& p, const std::vector<std::string>& objects) {
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const tenon::ExecIo& io : *list)
      if (!io.type.is_static() || !tenon::byte_size(io.type))
        return tenon::Diag{
            .code = 6201,
            .what = fmt::format(
                "'{}' has type {}: the aot executor takes shapes that are known at compile time",
                io.name, to_string(io.type)),
            .fix = "give the model's symbolic dims a value when importing it"};
  if (objects.size() > 1)
    return tenon::Diag{
        .code = 6212,
        .what = fmt::format("kernels of {} targets ({}): the aot executor takes those of one",
                            objects.size(), fmt::join(objects, ", ")),
        .fix = "place every kernel on one target of the board"};
  if (!p.kernels.empty() && (objects.empty() || !objects[0].ends_with(".c")))
    return tenon::Diag{
        .code = 6211,
        .what = fmt::format("{} kernels as {}: the aot executor takes them as C text",
                            p.kernels.size(), objects.empty() ? "nothing" : "'" + objects[0] + "'"),
        .fix = "use a board whose target is `with: c`, or emit with graph"};
  return {};
}

/// The kernels become part of model.c: their own file leaves the artefact.
tenon::Status emit(const tenon::ExecProgram& p, const tenon::Module& m,
                   const tenon::OptionValues& values, const std::vector<std::string>& objects,
                   tenon::ArtefactFiles& out) {
  if (tenon::Status s = check(p, objects); !s) return s;
  std::string kernels;
  for (const std::string& o : objects) {
    const auto it = out.find(o);
    if (it == out.end())
      return tenon::Diag{.code = 9064, .what = fmt::format("'{}' is not in the artefact", o)};
    const auto text = it->second.joined();
    kernels.assign(reinterpret_cast<const char*>(text.data()), text.size());
    out.erase(it);
  }
  const aot::Names names = aot::names_of(p, tenon::read_options<AotOptions>(values).name);
  auto source = aot::source_text(p, names, kernels, aot::call_comments(m));
  if (!source) return source.status();
  out["model.h"] = tenon::FileBytes(aot::header_text(p, names));
  out["model.c"] = tenon::FileBytes(*std::move(source));
  return {};
}

void describe(tenon::Registration& r) {
  r.add(tenon::ExecutorInfo{
      .id = "tenon.aot",
      .doc = "The program as one C file and its header, for devices without an operating system.",
      .options = tenon::option_rows<AotOptions>(),
      .emit = emit});
}

}  // namespace

TENON_PLUGIN("tenon.aot", "0.1.0", "executor tenon.aot: the program as C", describe,
             TN_KIND_EXECUTOR);
