// Every scalar operation on every type, as C, against the interpreter; and what the target refuses.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include "tests/support/artefact.h"
#include "tests/support/c_target.h"
#include "tests/support/kernel_maker.h"
#include "tests/support/scalar_cases.h"

namespace tenon::test {
namespace {

/// Half of the cases have one lane, half four: the text of a lane does not depend on their number.
std::vector<ScalarCase> cases() {
  const auto one = scalar_cases({1}), four = scalar_cases({4});
  std::vector<ScalarCase> out;
  for (std::size_t i = 0; i < one.size(); ++i) out.push_back(i % 2 ? one[i] : four[i]);
  return out;
}

void check(const std::vector<ScalarCase>& list, const std::string& compiler,
           const std::string& flags) {
  CAPTURE(compiler);
  CAPTURE(flags);
  std::vector<tir::Kernel> kernels;
  for (const ScalarCase& c : list) kernels.push_back(kernel_of(c));
  const auto text = c_text(kernels);
  REQUIRE(text);
  const TempDir dir;
  const auto file = dir.path() / "kernels.c";
  write_file(file, text->data(), text->size());
  const auto object = load_c(compiler, {file.string()}, flags);
  for (const ScalarCase& c : list) {
    auto* fn = reinterpret_cast<KernelFn>(dlsym(object.get(), c.symbol().c_str()));
    REQUIRE_MESSAGE(bool(fn), c.symbol());
    CHECK(difference(c, fn) == "");
  }
}

}  // namespace

TEST_CASE(
    "c: every scalar operation equals the interpreter, by each compiler, with and without the "
    "CPU's instructions") {
  check(cases(), "gcc", "-O1 -DTENON_PORTABLE");
  for (const std::string& compiler : c_compilers())
    if (runs_here(llvm_facts("x86-64-v3")))
      check(cases(), compiler, "-O2 -march=x86-64-v3 -Wl,-z,defs -nostdlib");
}

TEST_CASE("c: products in groups of four equal the interpreter's") {
  const unsigned all[] = {1, 3, 16};
  std::vector<tir::Kernel> kernels;
  for (const unsigned lanes : all) kernels.push_back(dot_kernel(lanes));
  const auto text = c_text(kernels);
  REQUIRE(text);
  const TempDir dir;
  const auto file = dir.path() / "kernels.c";
  write_file(file, text->data(), text->size());
  for (const std::string& compiler : c_compilers()) {
    const auto object = load_c(compiler, {file.string()}, "-O2 -Wall -Wextra -Werror -Wconversion");
    for (const unsigned lanes : all) {
      auto* fn = reinterpret_cast<KernelFn>(dlsym(object.get(), dot_kernel(lanes).symbol.c_str()));
      REQUIRE(bool(fn));
      CHECK(dot_difference(lanes, fn) == "");
    }
  }
}

TEST_CASE("c: what lowering should have expanded is refused, with the kernel's name") {
  for (const ScalarOp op : {ScalarOp::exp, ScalarOp::mod}) {
    KernelMaker m("k");
    const auto in = m.input(DType::f32, 4), out = m.output(DType::f32, 4);
    m.for_chunk(1, [&](KernelMaker::E i) {
      const auto x = m.load(in, i);
      m.store(out, i, arity(op) == 1 ? m.op(op, {x}) : m.op(op, {x, x}));
    });
    const auto text = c_text({m.done(4)});
    REQUIRE(!text);
    CHECK(text.errors()[0].code == 6103);
    CHECK(text.errors()[0].what.find("'k'") != std::string::npos);
  }
}

TEST_CASE("c: facts of the cpus, and of vectors asked for") {
  CHECK(c_facts("generic").vector_bytes == 4);
  CHECK(c_facts("cortex-m7").vector_registers == 32);
  const auto unknown = c_target().facts("m7", {OptionValue{.key = "cpu", .items = {"cortex-m9"}}});
  REQUIRE(!unknown);
  CHECK(unknown.errors()[0].code == 6102);
  const auto odd = c_target().facts("m7", {OptionValue{.key = "vector_bytes", .items = {"12"}}});
  REQUIRE(!odd);
  CHECK(odd.errors()[0].code == 6106);
  const auto wide =
      c_target().facts("m7", {OptionValue{.key = "vector_bytes", .items = {"16"}},
                              OptionValue{.key = "vector_registers", .items = {"8"}}});
  REQUIRE(wide);
  CHECK(wide->vector_bytes == 16);
  CHECK(wide->vector_registers == 8);
}

}  // namespace tenon::test
