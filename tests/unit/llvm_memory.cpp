// Loads, stores, loops, branches and in-place pairs as machine code against the interpreter.
// Buffers end at a page that may not be touched, and begin after one.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <random>

#include "tests/support/guarded_memory.h"
#include "tests/support/kernel_maker.h"
#include "tests/support/native_target.h"
#include "tests/support/tir_interpreter.h"

namespace tenon::test {
namespace {

using E = KernelMaker::E;

/// Fills with bytes that make finite floats of any width.
void fill(std::vector<std::byte>& v, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  for (std::byte& b : v) b = static_cast<std::byte>(rng() & 0x3f);
}

/// Runs `k` both ways over the same inputs, each argument in memory guarded on both sides; every
/// byte must agree. `ends`: the buffer ends exactly at the guard; else it begins there.
void check_same(const tir::Kernel& k, KernelFn fn, bool ends, std::int64_t begin,
                std::int64_t end) {
  std::vector<std::vector<std::byte>> expected;
  std::vector<GuardedMemory> actual;
  std::vector<void*> want, got;
  for (const tir::Buffer& b : k.buffers) {
    if (b.scope == tir::Scope::worker) continue;
    auto& e = expected.emplace_back(b.elements * bits(b.dtype) / 8);
    fill(e, b.arg + 1);
    if (b.dtype == DType::boolean)
      for (std::byte& x : e) x &= std::byte{1};
    actual.emplace_back(e.size(), ends);
    std::memcpy(actual.back().data(), e.data(), e.size());
  }
  for (auto& e : expected) want.push_back(e.data());
  for (auto& a : actual) got.push_back(a.data());
  std::vector<std::byte> scratch(k.worker_bytes + 64);
  void* worker =
      reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
  REQUIRE(interpret(k, want.data(), worker, begin, end) == "");
  REQUIRE(fn(got.data(), nullptr, worker, begin, end) == 0);
  for (std::size_t i = 0; i < want.size(); ++i)
    CHECK_MESSAGE(std::memcmp(want[i], got[i], expected[i].size()) == 0, k.symbol, " argument ", i);
}

void check_all(const std::vector<tir::Kernel>& kernels, const std::string& cpu = "native") {
  const TargetFacts facts = llvm_facts(cpu);
  const auto compiled = NativeKernels::compile(kernels, facts, 2);
  if (!runs_here(facts)) return;
  for (const tir::Kernel& k : kernels)
    for (bool ends : {true, false}) check_same(k, compiled[k.symbol], ends, 0, k.extent);
}

/// out[i] = in[i * stride], `lanes` at once: the last lane is the buffer's last element.
tir::Kernel strided_load(DType t, unsigned lanes, std::int64_t stride, bool masked) {
  KernelMaker m(fmt::format("load_{}_{}_{}_{}", name(t), lanes, stride, masked));
  const auto groups = 3;
  const auto in = m.input(t, static_cast<std::uint64_t>((groups * lanes - 1) * stride + 1));
  const auto out = m.output(t, groups * lanes);
  const auto limit = m.input(DType::i64, 1);
  m.for_chunk(lanes, [&](E i) {
    E mask = tir::none;
    if (masked) {  // lanes below in[limit] % 37 (and all that are outside the last group)
      E bound = m.op(ScalarOp::mod, {m.load(limit, m.imm(0)), m.imm(37)});
      mask = m.op(ScalarOp::lt, {m.ramp(i, 1, lanes), m.broadcast(bound, lanes)});
    }
    m.store(out, i, m.load(in, m.op(ScalarOp::mul, {i, m.imm(stride)}), lanes, stride, mask));
  });
  tir::Kernel k = m.done(groups * lanes, lanes);
  std::swap(k.buffers[1], k.buffers[2]);  // inputs before outputs
  k.buffers[1].arg = 1, k.buffers[2].arg = 2;
  for (tir::Expr& e : k.exprs)
    if (e.kind == tir::Kind::load && e.n == limit) e.n = 1;
  for (tir::Stmt& s : k.stmts)
    if (s.kind == tir::StmtKind::store) s.target = 2;
  return k;
}

/// out[i * stride] = in[i] where i < n - 3.
tir::Kernel strided_store(DType t, unsigned lanes, std::int64_t stride, bool masked) {
  KernelMaker m(fmt::format("store_{}_{}_{}_{}", name(t), lanes, stride, masked));
  const std::int64_t n = 2 * lanes;
  const auto in = m.input(t, static_cast<std::uint64_t>(n));
  const auto out = m.output(t, static_cast<std::uint64_t>((n - (masked ? 4 : 1)) * stride + 1));
  m.for_chunk(lanes, [&](E i) {
    const E mask = masked
                       ? m.op(ScalarOp::lt, {m.ramp(i, 1, lanes), m.broadcast(m.imm(n - 3), lanes)})
                       : tir::none;
    m.store(out, m.op(ScalarOp::mul, {i, m.imm(stride)}), m.load(in, i, lanes), stride, mask);
  });
  return m.done(n, lanes);
}

/// out[i] = in[(i * 7) mod n], by gather; with a 32-bit index when asked.
tir::Kernel gather(DType t, unsigned lanes, DType index) {
  KernelMaker m(fmt::format("gather_{}_{}_{}", name(t), lanes, name(index)));
  const std::int64_t n = 4 * lanes;
  const auto in = m.input(t, static_cast<std::uint64_t>(n)),
             out = m.output(t, static_cast<std::uint64_t>(n));
  m.for_chunk(lanes, [&](E i) {
    const E narrow = m.op(ScalarOp::cast, {index, 1}, {i});
    E at = m.op(ScalarOp::mul, {m.ramp(narrow, 1, lanes), m.broadcast(m.imm(7, index), lanes)});
    at = m.op(ScalarOp::mod, {at, m.broadcast(m.imm(n, index), lanes)});
    m.store(out, at, m.load(in, at, lanes));  // scatter to where it came from
  });
  return m.done(n, lanes);
}

}  // namespace

TEST_CASE("llvm: loads touch nothing but their elements, for all strides, lanes and masks") {
  std::vector<tir::Kernel> all;
  for (DType t : {DType::f32, DType::f64, DType::i8, DType::u16, DType::boolean})
    for (unsigned lanes : {1u, 2u, 3u, 8u, 16u})
      for (std::int64_t stride : {1, 2, 3, 4, 5, 9}) {
        if (lanes == 1 && stride > 1) continue;
        for (bool masked : {false, true}) all.push_back(strided_load(t, lanes, stride, masked));
      }
  check_all(all);
}

TEST_CASE("llvm: stores touch nothing but their elements, for all strides, lanes and masks") {
  std::vector<tir::Kernel> all;
  for (DType t : {DType::f32, DType::f64, DType::i8, DType::boolean})
    for (unsigned lanes : {2u, 4u, 16u})
      for (std::int64_t stride : {1, 2, 3, 7})
        for (bool masked : {false, true}) all.push_back(strided_store(t, lanes, stride, masked));
  check_all(all);
}

TEST_CASE("llvm: gather and scatter, also where the CPU has no instruction for it") {
  std::vector<tir::Kernel> all;
  for (DType t : {DType::f32, DType::i64, DType::u8, DType::f16})
    for (unsigned lanes : {4u, 16u})
      for (DType index : {DType::i64, DType::i32, DType::u8})
        all.push_back(gather(t, lanes, index));
  check_all(all);
  check_all(all, "x86-64-v3");
}

TEST_CASE(
    "llvm: loops keep accumulators, nest, take zero trips; branches choose; lanes fold in order") {
  std::vector<tir::Kernel> all;
  for (std::int64_t depth : {0, 1, 5}) {
    KernelMaker m(fmt::format("loops_{}", depth));
    const auto in = m.input(DType::f32, 32), out = m.output(DType::f32, 6 * 4);
    const auto acc = m.variable("acc", {DType::f32, 16}), j = m.variable("j", {DType::i64, 1}),
               k = m.variable("k", {DType::i64, 1});
    m.for_chunk(1, [&](E i) {
      m.assign(acc, m.broadcast(m.immf(0.5), 16));
      m.loop(j, m.imm(0), m.imm(depth), 2, [&] {
        m.loop(k, m.var(j), m.imm(depth), 1, [&] {
          E x = m.load(in, m.op(ScalarOp::add, {m.var(k), m.var(j)}), 16);
          m.assign(acc, m.op(ScalarOp::fma, {x, m.load(in, m.var(k), 16), m.var(acc)}));
        });
      });
      const E odd = m.op(ScalarOp::eq, {m.op(ScalarOp::mod, {i, m.imm(2)}), m.imm(1)});
      const E at = m.op(ScalarOp::mul, {i, m.imm(4)});
      m.branch(
          odd, [&] { m.store(out, at, m.fold(ScalarOp::add, m.var(acc))); },
          [&] {
            m.store(out, m.op(ScalarOp::add, {at, m.imm(3)}), m.fold(ScalarOp::max, m.var(acc)));
          });
    });
    all.push_back(m.done(6));
  }
  check_all(all);
}

TEST_CASE("llvm: worker scratch carries values between loops") {
  KernelMaker m("scratch");
  const auto in = m.input(DType::f32, 64), out = m.output(DType::f32, 64);
  const auto a = m.buffer("a", DType::f32, 16, tir::Scope::worker, 64);
  const auto b = m.buffer("b", DType::f32, 16, tir::Scope::worker, 64);
  m.kernel().buffers[b].offset = 64;
  m.kernel().worker_bytes = 128;
  m.for_chunk(16, [&](E i) {
    m.store(a, m.imm(0), m.load(in, i, 16));
    m.store(b, m.imm(0), m.op(ScalarOp::add, {m.load(a, m.imm(0), 16), m.load(a, m.imm(0), 16)}));
    m.store(out, i, m.op(ScalarOp::mul, {m.load(a, m.imm(0), 16), m.load(b, m.imm(0), 16)}));
  });
  check_all({m.done(64, 16)});
}

TEST_CASE("llvm: an in-place pair computes the same shared and unshared") {
  KernelMaker m("inplace");
  const std::uint64_t n = 100;
  const auto x = m.input(DType::f32, n), y = m.input(DType::f32, n), out = m.output(DType::f32, n);
  m.for_chunk(1, [&](E i) {
    m.store(out, i,
            m.op(ScalarOp::sub, {m.op(ScalarOp::mul, {m.load(x, i), m.load(y, i)}), m.load(x, i)}));
  });
  m.kernel().inplace = {{x, out}};
  const auto compiled = NativeKernels::compile({m.done(n)}, llvm_facts());
  std::vector<float> a(n), b(n), r(n);
  for (std::size_t i = 0; i < n; ++i)
    a[i] = 0.37f * static_cast<float>(i), b[i] = 1.1f - 0.013f * static_cast<float>(i);
  void* unshared[] = {a.data(), b.data(), r.data()};
  REQUIRE(compiled["inplace"](unshared, nullptr, nullptr, 0, n) == 0);
  void* shared[] = {a.data(), b.data(), a.data()};
  REQUIRE(compiled["inplace"](shared, nullptr, nullptr, 0, n) == 0);
  CHECK(std::memcmp(a.data(), r.data(), n * sizeof(float)) == 0);
}

}  // namespace tenon::test
