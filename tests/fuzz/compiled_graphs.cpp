// Random graphs through the shipped pipeline to machine code: the runtime and the evaluator must
// agree to the last bit.
#include <doctest/doctest.h>

#include "core/pipeline/compile.h"
#include "core/pipeline/index.h"
#include "core/pipeline/steps/steps.h"
#include "core/support/files.h"
#include "tenon/text.h"
#include "tests/support/agreement.h"
#include "tests/support/planned.h"
#include "tests/support/random_graphs.h"
#include "tests/support/runtime.h"

namespace tenon::test {
namespace {

constexpr const char* steps = R"(tenon: 1
board: host
steps: [infer-shapes, simplify, fold-constants, dead-code, mark-views, fuse-ops, lower, plan, emit]
)";

std::vector<Tensor> run_artefact(const std::filesystem::path& folder, const Module& m,
                                 const std::vector<Tensor>& in, std::uint32_t threads) {
  const ModelPtr model = load(folder);
  const ContextPtr c = context(model, threads, TN_GUARD | TN_POISON);
  for (std::uint32_t i = 0; i < in.size(); ++i) {
    const Shape dims = in[i].type.shape();
    const int e =
        tn_set_input(c.get(), i, static_cast<tn_dtype>(in[i].type.dtype),
                     static_cast<std::uint32_t>(dims.size()), dims.data(), in[i].bytes.data());
    REQUIRE_MESSAGE(e == 0, tn_last_error());
  }
  const int e = tn_run(c.get());
  REQUIRE_MESSAGE(e == 0, tn_last_error());
  std::vector<Tensor> out;
  for (std::uint32_t i = 0; i < m.main()->body.results.size(); ++i) {
    const void* p = nullptr;
    REQUIRE(tn_output(c.get(), i, &p) == 0);
    const TensorType t = m.main()->body.results[i].type();
    const auto* b = static_cast<const std::byte*>(p);
    const std::uint64_t n = *byte_size(t);
    out.push_back({t, n ? std::vector<std::byte>(b, b + n) : std::vector<std::byte>()});
  }
  return out;
}

}  // namespace

TEST_CASE("random graphs: compiled code and the evaluator agree bitwise, 500 graphs") {
  const TempDir dir;
  const std::string pipeline = (dir.path() / "fuzz.yaml").string();
  REQUIRE(DiskFiles().write(pipeline, steps));
  SessionOptions plugins;
  auto chain =
      open_toolchain({.pipeline = pipeline, .board = {}, .set = {}, .share = {}}, plugins, nullptr);
  REQUIRE_MESSAGE(chain, text(chain.status()));
  SessionIndex index(*chain->session);
  std::uint64_t kernels = 0, graphs = 0;
  for (std::uint64_t seed = 1; graphs < 500; ++seed) {
    CAPTURE(seed);
    REQUIRE(seed < 10000);
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
    const std::filesystem::path folder = dir.path() / "artefact";
    const Status written = tenon::write_artefact(folder.string(), c.files);
    REQUIRE_MESSAGE(written, text(written));
    for (const std::uint32_t threads : {1u, 2u}) {
      const auto got = run_artefact(folder, c.module, in, threads);
      if (same_but_nan(got, *expected)) continue;
      FAIL_CHECK("wrong outputs of this module, as lowered:\n", print(c.module));
      return;
    }
  }
  CHECK(kernels > 500);
}

}  // namespace tenon::test
