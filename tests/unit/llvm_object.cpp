// What the target writes: the same bytes for any number of threads, nothing but kernels exported,
// vectors as written.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/support/kernel_maker.h"
#include "tests/support/native_target.h"

namespace tenon::test {
namespace {

using E = KernelMaker::E;

/// A register-tiled matrix product: c[6, 64] += a[6, depth] * b[depth, 64].
tir::Kernel tile_kernel(const std::string& symbol, std::int64_t depth) {
  constexpr unsigned rows = 6, lanes = 16, columns = 4;
  KernelMaker m(symbol);
  const auto a = m.input(DType::f32, static_cast<std::uint64_t>(rows * depth));
  const auto b = m.input(DType::f32, static_cast<std::uint64_t>(depth) * 64),
             c = m.output(DType::f32, rows * 64);
  std::vector<std::uint32_t> acc;
  for (unsigned i = 0; i < rows * columns; ++i)
    acc.push_back(m.variable(fmt::format("acc{}", i), {DType::f32, lanes}));
  for (std::uint32_t v : acc) m.assign(v, m.broadcast(m.immf(0), lanes));
  const auto k = m.variable("k", {DType::i64, 1});
  m.loop(k, m.imm(0), m.imm(depth), 1, [&] {
    std::vector<E> panel;
    for (unsigned j = 0; j < columns; ++j)
      panel.push_back(m.load(
          b, m.op(ScalarOp::add, {m.op(ScalarOp::mul, {m.var(k), m.imm(64)}), m.imm(j * lanes)}),
          lanes));
    for (unsigned i = 0; i < rows; ++i) {
      const E x = m.broadcast(m.load(a, m.op(ScalarOp::add, {m.var(k), m.imm(i * depth)})), lanes);
      for (unsigned j = 0; j < columns; ++j)
        m.assign(acc[i * columns + j],
                 m.op(ScalarOp::fma, {x, panel[j], m.var(acc[i * columns + j])}));
    }
  });
  for (unsigned i = 0; i < rows * columns; ++i) m.store(c, m.imm(i * lanes), m.var(acc[i]));
  return m.done(1);
}

tir::Kernel relu_kernel() {
  KernelMaker m("relu");
  const auto in = m.input(DType::f32, 64), out = m.output(DType::f32, 64);
  m.for_chunk(16, [&](E i) {
    m.store(out, i, m.op(ScalarOp::max, {m.load(in, i, 16), m.broadcast(m.immf(0), 16)}));
  });
  return m.done(64, 16);
}

std::string run(const std::string& command) {
  std::string out;
  FILE* p = popen(command.c_str(), "r");
  REQUIRE(bool(p));
  char chunk[4096];
  for (std::size_t n; (n = fread(chunk, 1, sizeof chunk, p)) > 0;) out.append(chunk, n);
  REQUIRE(pclose(p) == 0);
  return out;
}

/// Output of a binutils command over an object.
std::string inspect(const std::string& command, const std::vector<std::byte>& object) {
  const auto path = std::filesystem::temp_directory_path() / "tenon-inspected.so";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(object.data()),
             static_cast<std::streamsize>(object.size()));
  std::string out = run(command + " " + path.string());
  std::filesystem::remove(path);
  return out;
}

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("llvm: a register tile keeps its accumulators in registers, as wide as the CPU's") {
  const auto wide =
      NativeKernels::compile({tile_kernel("tile", 256), relu_kernel()}, llvm_facts("x86-64-v3"));
  const std::string narrow_code = inspect("objdump -d", wide.bytes());
  CHECK(occurrences(narrow_code, "zmm") == 0);
  CHECK(occurrences(narrow_code, "vfmadd") >= 24);
  CHECK(occurrences(narrow_code, "vmaxps") >= 1);
  const auto object =
      compile_object({tile_kernel("tile", 256), relu_kernel()}, llvm_facts("x86-64-v4"));
  REQUIRE(object);
  const std::string code = inspect("objdump -d", *object);
  CHECK(occurrences(code, "vfmadd") == 24);  // one per tile of the loop: no unrolling, no remainder
  CHECK(occurrences(code, "rsp") < 12);      // no accumulator on the stack
  CHECK(occurrences(code, "vmaxps") >= 1);
}

TEST_CASE(
    "llvm: equal bytes for any number of threads; only kernels are exported; nothing is needed") {
  std::vector<tir::Kernel> kernels;
  for (int i = 0; i < 12; ++i) kernels.push_back(tile_kernel(fmt::format("tile_{}", i), 16 + i));
  const TargetFacts facts = llvm_facts();
  const auto one = NativeKernels::compile(kernels, facts, 1);
  for (unsigned threads : {2u, 3u, 8u})
    CHECK(NativeKernels::compile(kernels, facts, threads).bytes() == one.bytes());
  const std::string symbols = inspect("nm -D", one.bytes());
  CHECK(occurrences(symbols, "\n") == 12);
  CHECK(occurrences(symbols, " T tile_") == 12);
  const std::string dynamic = inspect("readelf -d", one.bytes());
  CHECK(occurrences(dynamic, "NEEDED") == 0);
  CHECK(occurrences(dynamic, "[kernels.so]") == 1);
  CHECK(occurrences(inspect("strings", one.bytes()), "tmp") == 0);
}

TEST_CASE("llvm: no kernels make an empty object") {
  CHECK(NativeKernels::compile({}, llvm_facts()).bytes().size() > 0);
}

TEST_CASE("llvm: what it cannot compile is refused by name") {
  const auto first_error = [](const tir::Kernel& k, const TargetFacts& f) {
    const auto r = compile_object({k}, f);
    REQUIRE_FALSE(r);
    CHECK(r.errors()[0].code == 6103);
    return r.errors()[0].what;
  };
  KernelMaker half("half");
  const auto in = half.input(DType::f16, 4), out = half.output(DType::f16, 4);
  half.for_chunk(1, [&](E i) { half.store(out, i, half.load(in, i)); });
  CHECK(first_error(half.done(4), llvm_facts("x86-64")).find("f16c") != std::string::npos);
  tir::Kernel broken = half.done(4);
  broken.body.push_back(99);
  CHECK(first_error(broken, llvm_facts()).find("99") != std::string::npos);
  const auto r = compile_object({half.done(4), half.done(4)}, llvm_facts());
  REQUIRE_FALSE(r);
  CHECK(r.errors()[0].what.find("half") != std::string::npos);
}

TEST_CASE(
    "llvm: facts name the cpu, never `native`, and an unknown cpu is refused with the nearest "
    "name") {
  const TargetFacts f = llvm_facts("native");
  CHECK(f.cpu != "native");
  CHECK(f.triple == "x86_64-unknown-linux-gnu");
  CHECK(llvm_facts("x86-64-v4").vector_bytes == 64);
  CHECK(llvm_facts("x86-64-v4").vector_registers == 32);
  CHECK(llvm_facts("haswell").vector_bytes == 32);
  CHECK(llvm_facts("x86-64").vector_bytes == 16);
  const auto bad = llvm_target().facts("host", {OptionValue{.key = "cpu", .items = {"hasswell"}}});
  REQUIRE_FALSE(bad);
  CHECK(bad.errors()[0].code == 6102);
  CHECK(bad.errors()[0].fix.find("haswell") != std::string::npos);
}

}  // namespace tenon::test
