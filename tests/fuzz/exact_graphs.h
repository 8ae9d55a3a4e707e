// Random graphs of which every number is exact, compiled by a pipeline: what an executor makes of
// them and the evaluator must agree to the last bit.
#ifndef TENON_TESTS_FUZZ_EXACT_GRAPHS_H
#define TENON_TESTS_FUZZ_EXACT_GRAPHS_H

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/pipeline/compile.h"
#include "core/pipeline/index.h"
#include "core/pipeline/steps/steps.h"
#include "core/support/files.h"
#include "tenon/text.h"
#include "tests/support/agreement.h"
#include "tests/support/artefact.h"
#include "tests/support/planned.h"
#include "tests/support/random_graphs.h"

namespace tenon::test {

/// Whether what was compiled gives `expected` of `in`.
using Agrees = std::function<bool(const Compilation& c, const std::vector<Tensor>& in,
                                  const std::vector<Tensor>& expected)>;

/// Compiles `count` graphs, of seeds from `first` on, by the steps of a pipeline's text. Fails the
/// test at the first that does not agree. Returns how many kernels were made.
inline std::uint64_t judge_exact_graphs(const char* steps, std::uint64_t first, std::uint64_t count,
                                        const Agrees& agrees) {
  const TempDir dir;
  const std::string pipeline = (dir.path() / "fuzz.yaml").string();
  REQUIRE(DiskFiles().write(pipeline, steps));
  SessionOptions plugins;
  auto chain =
      open_toolchain({.pipeline = pipeline, .board = {}, .set = {}, .share = {}}, plugins, nullptr);
  REQUIRE_MESSAGE(chain, text(chain.status()));
  SessionIndex index(*chain->session);
  std::uint64_t kernels = 0, graphs = 0;
  for (std::uint64_t seed = first; graphs < count; ++seed) {
    CAPTURE(seed);
    REQUIRE(seed < first + 20 * count);
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
    if (agrees(c, in, *expected)) continue;
    FAIL_CHECK("wrong outputs of this module, as lowered:\n", print(c.module));
    return kernels;
  }
  return kernels;
}

}  // namespace tenon::test

#endif
