#include "tests/support/scalar_cases.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tests/support/kernel_maker.h"
#include "tests/support/tir_interpreter.h"

namespace tenon::test {
namespace {

constexpr DType all_types[] = {DType::f32, DType::f64, DType::f16,    DType::bf16, DType::i8,
                               DType::i16, DType::i32, DType::i64,    DType::u8,   DType::u16,
                               DType::u32, DType::u64, DType::boolean};

bool defined(ScalarOp op, DType t) {
  if (op == ScalarOp::cast || op == ScalarOp::bitcast || is_transcendental(op)) return false;
  if (op == ScalarOp::logical_not || op == ScalarOp::logical_and || op == ScalarOp::logical_or)
    return t == DType::boolean;
  if (op == ScalarOp::select || is_comparison(op)) return true;
  if (t == DType::boolean) return false;
  const bool bitwise = op == ScalarOp::bit_not || (op >= ScalarOp::bit_and && op <= ScalarOp::shr);
  if (is_float(t))
    return !bitwise && op != ScalarOp::mod && !(op == ScalarOp::ldexp && t == DType::f64);
  return op != ScalarOp::ldexp && op != ScalarOp::sqrt && op != ScalarOp::is_nan;
}

std::vector<Lane> edges(DType t) {
  std::vector<Lane> out;
  const auto add = [&](DType from, Lane v) {
    out.push_back(interpret_scalar(ScalarOp::cast, from, t, v, 0, 0));
  };
  if (is_float(t)) {
    for (double d :
         {0.0,       1.0,          0.5,    1.5,  2.5,    3.0,   0.1,  127.5, 255.0, 65504.0,
          8388608.0, 2147483648.0, 9.3e18, 1e30, 3.4e38, 1e-20, 6e-8, 1e-40, 1e-45, HUGE_VAL})
      for (double s : {d, -d}) {
        Lane raw;
        std::memcpy(&raw, &s, 8);
        add(DType::f64, raw);
      }
    Lane nan = 0x7ff8000000000000;
    add(DType::f64, nan);
    return out;
  }
  const unsigned w = bits(t);
  const Lane top = Lane{1} << (w - 1);
  for (Lane v : {Lane{0}, Lane{1}, Lane{2}, Lane{3}, Lane{7}, Lane{8}, Lane{100}, ~Lane{0},
                 ~Lane{1}, ~Lane{6}, top, top - 1, top + 1, Lane{w}, Lane{w - 1}})
    add(DType::u64, v);
  return out;
}

/// n elements: all pairs of edges when `second` (else each edge repeated), then random ones.
std::vector<Lane> column(DType t, unsigned which, std::size_t n, std::mt19937_64& rng) {
  const std::vector<Lane> e = edges(t);
  std::vector<Lane> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t pair = which == 0 ? i % e.size() : which == 1 ? i / e.size() : i * 7;
    if (i < e.size() * e.size()) {
      out[i] = e[pair % e.size()];
    } else if (is_float(t)) {
      const double d =
          std::ldexp(static_cast<double>(rng() >> 11), static_cast<int>(rng() % 80) - 90) *
          (rng() % 2 ? 1 : -1);
      Lane raw;
      std::memcpy(&raw, &d, 8);
      out[i] = interpret_scalar(ScalarOp::cast, DType::f64, t, raw, 0, 0);
    } else {
      out[i] = interpret_scalar(ScalarOp::cast, DType::u64, t, rng() >> (rng() % 64), 0, 0);
    }
  }
  return out;
}

constexpr std::size_t count = 1920;  // a multiple of 16, more than all pairs of edges

DType operand_type(const ScalarCase& c, unsigned i) {
  return c.op == ScalarOp::select && i == 0 ? DType::boolean : c.from;
}

}  // namespace

std::string ScalarCase::symbol() const {
  return fmt::format("k_{}_{}_{}_{}", tenon::name(op), tenon::name(from), tenon::name(to), lanes);
}

tir::Kernel kernel_of(const ScalarCase& c) {
  KernelMaker m(c.symbol());
  std::vector<std::uint32_t> in;
  for (unsigned i = 0; i < arity(c.op); ++i) in.push_back(m.input(operand_type(c, i), count));
  const std::uint32_t out = m.output(c.to, count);
  m.for_chunk(c.lanes, [&](KernelMaker::E i) {
    std::vector<KernelMaker::E> args;
    for (std::uint32_t b : in) args.push_back(m.load(b, i, c.lanes));
    m.store(out, i, m.op(c.op, tir::Type{c.to, static_cast<std::uint16_t>(c.lanes)}, args));
  });
  return m.done(count, c.lanes);
}

std::string difference(const ScalarCase& c, KernelFn fn) {
  std::mt19937_64 rng(1);
  const unsigned n = arity(c.op);
  std::vector<std::vector<Lane>> columns;
  std::vector<std::vector<std::byte>> memory;
  for (unsigned i = 0; i < n; ++i) {
    const DType t = operand_type(c, i);
    columns.push_back(column(t, i, count, rng));
    auto& mem = memory.emplace_back(count * bits(t) / 8);
    for (std::size_t e = 0; e < count; ++e)
      write_lane(t, mem.data() + e * bits(t) / 8, columns[i][e]);
  }
  memory.emplace_back(count * bits(c.to) / 8);
  std::vector<void*> buf;
  for (auto& m : memory) buf.push_back(m.data());
  if (fn(buf.data(), nullptr, nullptr, 0, count) != 0) return c.symbol() + ": failed";
  for (std::size_t e = 0; e < count; ++e) {
    const Lane a = columns[0][e], b = n > 1 ? columns[1][e] : 0, d = n > 2 ? columns[2][e] : 0;
    const Lane want = interpret_scalar(c.op, c.from, c.to, a, b, d);
    const Lane got = read_lane(c.to, memory.back().data() + e * bits(c.to) / 8);
    if (!same_element(c.to, want, got))
      return fmt::format("{}: ({:#x}, {:#x}, {:#x}) gives {:#x}, not {:#x}", c.symbol(), a, b, d,
                         got, want);
  }
  return "";
}

std::vector<ScalarCase> scalar_cases(std::initializer_list<unsigned> lanes) {
  std::vector<ScalarCase> out;
  for (unsigned l : lanes)
    for (DType t : all_types) {
      for (unsigned o = 0; o <= static_cast<unsigned>(ScalarOp::fma); ++o) {
        const auto op = static_cast<ScalarOp>(o);
        if (!defined(op, t)) continue;
        const bool gives_bool = is_comparison(op) || op == ScalarOp::is_nan;
        out.push_back({op, t, gives_bool ? DType::boolean : t, l});
      }
      for (DType to : all_types) {
        if (t != to) out.push_back({ScalarOp::cast, t, to, l});
        if (t != to && bits(t) == bits(to) && t != DType::boolean && to != DType::boolean)
          out.push_back({ScalarOp::bitcast, t, to, l});
      }
    }
  return out;
}

tir::Kernel dot_kernel(unsigned lanes) {
  KernelMaker m(fmt::format("k_dot_{}", lanes));
  const auto x = m.input(DType::u8, 4 * count), y = m.input(DType::i8, 4 * count),
             c = m.input(DType::i32, count), out = m.output(DType::i32, count);
  m.for_chunk(lanes, [&](KernelMaker::E i) {
    const auto at = m.op(ScalarOp::mul, {i, m.imm(4)});
    const auto bytes = m.load(y, at, 4 * lanes);
    const auto group = m.broadcast(m.load(x, at, 4), 4 * lanes);
    const auto sum = m.dot(group, bytes, m.load(c, i, lanes));
    m.store(out, i, m.dot(m.load(x, at, 4 * lanes), bytes, sum));
  });
  return m.done(count, lanes);
}

std::string dot_difference(unsigned lanes, KernelFn fn) {
  std::mt19937_64 rng(1);
  std::vector<std::uint8_t> x(4 * count);
  std::vector<std::int8_t> y(4 * count);
  std::vector<std::int32_t> c(count), want(count), got(count);
  const auto byte = [&](std::size_t i) { return i % 3 ? rng() : i % 2 ? 0xffu : 0x80u; };
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::uint8_t>(byte(i));
    y[i] = static_cast<std::int8_t>(byte(i / 2));
  }
  for (std::size_t i = 0; i < count; ++i)
    c[i] = i % 5 ? static_cast<std::int32_t>(rng()) : i % 2 ? INT32_MAX : INT32_MIN;
  void* expected[] = {x.data(), y.data(), c.data(), want.data()};
  void* actual[] = {x.data(), y.data(), c.data(), got.data()};
  if (std::string why = interpret(dot_kernel(lanes), expected, nullptr, 0, count); !why.empty())
    return why;
  if (fn(actual, nullptr, nullptr, 0, count) != 0) return "failed";
  for (std::size_t i = 0; i < count; ++i)
    if (want[i] != got[i])
      return fmt::format("dot of {} lanes: element {} is {}, not {}", lanes, i, got[i], want[i]);
  return "";
}

}  // namespace tenon::test
