// Random graphs through the shipped pipeline to C: what gcc makes of it and the evaluator must
// agree to the last bit.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/fuzz/exact_graphs.h"
#include "tests/support/aot_model.h"

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
  const std::uint64_t kernels = judge_exact_graphs(
      steps, 1000, 60, [](const Compilation& c, const auto& in, const auto& expected) {
        return same_but_nan(run_compiled(c.files, c.module, in), expected);
      });
  CHECK(kernels > 60);
}

}  // namespace tenon::test
