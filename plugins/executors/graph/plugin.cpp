// tenon.graph: a program file and images of constants, run by the C runtime (tenon/c/runtime.h).
#include "tenon/plugin.h"

#include "encode.h"

namespace {

namespace graph = tenon::graph_executor;

tenon::Status emit(const tenon::ExecProgram& p, const tenon::Module&, const tenon::OptionValues&,
                   const std::vector<std::string>& objects, tenon::ArtefactFiles& out) {
  auto program = graph::encode_program(p, objects);
  if (!program) return program.status();
  out["program.json"] = tenon::FileBytes(*std::move(program));
  for (std::uint32_t i = 0; i < p.pools.size(); ++i) {
    const std::string name = graph::image_name(p, i);
    if (name.empty()) continue;
    auto image = tenon::constants_image(p, i);
    if (!image) return image.status();
    out[name] = std::move(*image);
  }
  out["checksums"] = tenon::FileBytes(graph::checksums(out));
  return {};
}

void describe(tenon::Registration& r) {
  r.add(tenon::ExecutorInfo{.id = "tenon.graph",
                            .doc = "A program file and images of constants, run by the C runtime.",
                            .options = {},
                            .emit = emit});
}

}  // namespace

TENON_PLUGIN("tenon.graph", "0.1.0", "executor tenon.graph: artefacts for the C runtime", describe,
             TN_KIND_EXECUTOR);
