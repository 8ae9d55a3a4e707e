// Random graphs through the shipped pipeline to machine code: the runtime and the evaluator must
// agree to the last bit.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/fuzz/exact_graphs.h"
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
  const std::filesystem::path folder = dir.path() / "artefact";
  const std::uint64_t kernels = judge_exact_graphs(
      steps, 1, 500, [&](const Compilation& c, const auto& in, const auto& expected) {
        const Status written = tenon::write_artefact(folder.string(), c.files);
        REQUIRE_MESSAGE(written, text(written));
        return same_but_nan(run_artefact(folder, c.module, in, 1), expected) &&
               same_but_nan(run_artefact(folder, c.module, in, 2), expected);
      });
  CHECK(kernels > 500);
}

}  // namespace tenon::test
