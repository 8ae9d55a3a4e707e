// Random graphs through the shipped pipeline to C: what gcc makes of it and the evaluator must
// agree to the last bit.
#include <doctest/doctest.h>

#include "core/pipeline/compile.h"
#include "core/pipeline/index.h"
#include "core/pipeline/steps/steps.h"
#include "core/support/files.h"
#include "tenon/text.h"
#include "tests/support/agreement.h"
#include "tests/support/aot_model.h"
#include "tests/support/artefact.h"
#include "tests/support/planned.h"
#include "tests/support/random_graphs.h"

namespace tenon::test {
namespace {

constexpr const char* steps = R"(tenon: 1
board: host
targets: {host: {with: c, cpu: generic}}
steps: [infer-shapes, simplify, fold-constants, dead-code, mark-views, fuse-ops, lower, plan, emit: {with: aot, name: m}]
)";

/// Memory for a tensor, aligned for any kernel.
struct Aligned {
  explicit Aligned(const Tensor& t) : Aligned(t.bytes.size()) {
    if (bytes > 0) std::memcpy(data(), t.bytes.data(), bytes);
  }
  explicit Aligned(std::size_t n) : bytes(n), memory(n + 64, std::byte{0x5A}) {}
  std::byte* data() {
    return memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
  }
  std::size_t bytes;
  std::vector<std::byte> memory;
};

std::vector<Tensor> run_compiled(const ArtefactFiles& files, const Module& m,
                                 const std::vector<Tensor>& in) {
  const AotModel model(files, "m");
  std::vector<Aligned> inputs(in.begin(), in.end()), outputs;
  for (const Value v : m.main()->body.results) outputs.emplace_back(*byte_size(v.type()));
  std::vector<const void*> from;
  std::vector<void*> to;
  for (Aligned& a : inputs) from.push_back(a.data());
  for (Aligned& a : outputs) to.push_back(a.data());
  REQUIRE(model.run(from, to) == 0);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    out.push_back({m.main()->body.results[i].type(),
                   {outputs[i].data(), outputs[i].data() + outputs[i].bytes}});
  return out;
}

}  // namespace

TEST_CASE("random graphs: generated C and the evaluator agree bitwise, 60 graphs") {
  const TempDir dir;
  const std::string pipeline = (dir.path() / "fuzz.yaml").string();
  REQUIRE(DiskFiles().write(pipeline, steps));
  SessionOptions plugins;
  auto chain =
      open_toolchain({.pipeline = pipeline, .board = {}, .set = {}, .share = {}}, plugins, nullptr);
  REQUIRE_MESSAGE(chain, text(chain.status()));
  SessionIndex index(*chain->session);
  std::uint64_t kernels = 0, graphs = 0;
  for (std::uint64_t seed = 1000; graphs < 60; ++seed) {
    CAPTURE(seed);
    REQUIRE(seed < 2000);
    Compilation c(chain->config, *chain->session, chain->session->ops());
    c.module = random_graph(chain->session->ops(), seed);
    const std::vector<Tensor> in = random_inputs(c.module, seed);
    bool all_exact = true;
    auto expected =
        evaluate(c.module, *c.module.main(), in,
                 {.observe = [&](Value, const Tensor& t) { all_exact = all_exact && exact(t); }});
    REQUIRE_MESSAGE(expected, text(expected.status()));
    if (!all_exact) continue;
    ++graphs;
    const Status s = run_pipeline(c, index, slot_bodies());
    REQUIRE_MESSAGE(s, text(s));
    kernels += c.module.kernels.size();
    if (same_but_nan(run_compiled(c.files, c.module, in), *expected)) continue;
    FAIL_CHECK("wrong outputs of this module, as lowered:\n", print(c.module));
    return;
  }
  CHECK(kernels > 60);
}

}  // namespace tenon::test
