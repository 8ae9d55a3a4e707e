#include "tests/support/lowering_kit.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tenon/eval.h"
#include "tenon/text.h"
#include "tests/support/registration.h"
#include "tests/support/tir_interpreter.h"

namespace tenon::test {

const LoweringInfo& te_lowering() {
  static const LoweringInfo info = registration_of("tenon-te.so").lowerings.at(0);
  return info;
}

TargetFacts plain_facts(std::uint32_t bytes, std::uint32_t registers) {
  return {.id = "host", .with = "none", .vector_bytes = bytes, .vector_registers = registers};
}

TargetFacts facts_with_bytes() {
  TargetFacts r = plain_facts();
  r.features = "avx512vnni";
  return r;
}

namespace {

template <class T>
T accepted(Result<T> r) {
  if (!r)
    for (const Diag& d : r.errors()) MESSAGE(d.what);
  REQUIRE(r);
  return std::move(*r);
}

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const TensorType& t) { return Bytes(*byte_size(t)); }

Bytes random_tensor(const TensorType& t, const Case& c, std::mt19937& rng) {
  Bytes r = bytes_of(t);
  std::uniform_int_distribution<int> pick(c.low, c.high);
  const unsigned size = bits(t.dtype) / 8;
  for (std::size_t at = 0; at < r.size(); at += size) {
    const int v = pick(rng);
    if (is_float(t.dtype)) {
      const double x = v * c.scale;
      write_lane(
          t.dtype, &r[at],
          interpret_scalar(ScalarOp::cast, DType::f64, t.dtype, std::bit_cast<Lane>(x), 0, 0));
    } else if (t.dtype == DType::boolean) {
      r[at] = std::byte(v & 1);
    } else {
      // Index tensors are i64: they stay valid indices.
      write_lane(
          t.dtype, &r[at],
          static_cast<Lane>(static_cast<std::int64_t>(t.dtype == DType::i64 ? std::abs(v) : v)));
    }
  }
  return r;
}

double as_double(DType t, Lane v) {
  return std::bit_cast<double>(interpret_scalar(ScalarOp::cast, t, DType::f64, v, 0, 0));
}

double ulp_of(DType t, double v) {
  const int digits = t == DType::f32 ? 24 : t == DType::f16 ? 11 : t == DType::bf16 ? 8 : 53;
  const int least = t == DType::f32 || t == DType::bf16 ? -126 : t == DType::f16 ? -14 : -1022;
  int e = 0;
  std::frexp(v, &e);
  return std::ldexp(1.0, std::max(e - 1, least) - digits + 1);
}

/// "" or where two tensors differ by more than `ulp` units.
std::string difference(const TensorType& t, const Bytes& want, const Bytes& have, double ulp,
                       double at_least) {
  const unsigned size = bits(t.dtype) / 8;
  for (std::size_t at = 0; at < want.size(); at += size) {
    const Lane a = read_lane(t.dtype, &want[at]), b = read_lane(t.dtype, &have[at]);
    if (same_element(t.dtype, a, b)) continue;
    const double x = is_float(t.dtype) ? as_double(t.dtype, a) : 0,
                 y = is_float(t.dtype) ? as_double(t.dtype, b) : 0;
    if (is_float(t.dtype) &&
        std::abs(x - y) <= ulp * ulp_of(t.dtype, std::max(std::abs(x), at_least)))
      continue;
    return is_float(t.dtype) ? fmt::format("element {}: want {}, have {}", at / size, x, y)
                             : fmt::format("element {}: want {:x}, have {:x}", at / size, a, b);
  }
  return "";
}

/// Buffers of one run. Scratch starts as garbage: nothing may depend on it.
struct Run {
  std::vector<Bytes> args;
  Bytes worker;
  std::vector<void*> buf;

  Run(const tir::Kernel& k, const std::vector<Bytes>& inputs,
      const std::pair<std::uint32_t, std::uint32_t>* shared) {
    for (const tir::Buffer& b : k.buffers) {
      if (b.scope == tir::Scope::worker) continue;
      args.push_back(b.scope == tir::Scope::input
                         ? inputs[b.arg]
                         : Bytes(b.elements * bits(b.dtype) / 8, std::byte{0xdb}));
    }
    worker.assign(k.worker_bytes + 64, std::byte{0xcd});
    for (Bytes& a : args) buf.push_back(a.data());
    if (shared) buf[shared->second] = buf[shared->first];
  }
  void* scratch() {
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(worker.data()) + 63) / 64 *
                                   64);
  }
  Bytes output(std::uint32_t arg) const {
    const auto* p = static_cast<const std::byte*>(buf[arg]);
    return Bytes(p, p + args[arg].size());
  }
};

using Cut = std::vector<std::pair<std::int64_t, std::int64_t>>;

Cut whole(const tir::Kernel& k) { return {{0, k.extent}}; }
/// Uneven chunks, last first, with an empty one.
Cut shredded(const tir::Kernel& k) {
  Cut r{{0, 0}};
  for (std::int64_t at = 0, n = 1; at < k.extent; at += n, n = n % 3 + 1)
    r.push_back({at, std::min(at + n, k.extent)});
  std::reverse(r.begin(), r.end());
  return r;
}

std::string execute(const tir::Kernel& k, Run& r, const Cut& cut, KernelFn fn) {
  for (auto [begin, end] : cut) {
    std::fill(r.worker.begin(), r.worker.end(), std::byte{0xcd});
    if (fn) {
      if (std::int32_t code = fn(r.buf.data(), nullptr, r.scratch(), begin, end))
        return fmt::format("returned {}", code);
    } else if (std::string s = interpret(k, r.buf.data(), r.scratch(), begin, end); !s.empty()) {
      return s;
    }
  }
  return "";
}

/// Random inputs of a case, and what the evaluator makes of them.
struct Data {
  std::vector<Bytes> inputs, wanted;
  Data(const Case& c, unsigned seed) {
    std::mt19937 rng(seed);
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    for (const TensorType& t : c.compute.inputs) inputs.push_back(random_tensor(t, c, rng));
    for (std::uint32_t o = 0; o < c.compute.outputs.size(); ++o)
      wanted.push_back(bytes_of(c.compute.output_type(o)));
    for (Bytes& b : inputs) in.push_back(b.data());
    for (Bytes& b : wanted) out.push_back(b.data());
    evaluate(c.compute, in, out);
  }
};

struct Judge {
  const Case& c;
  const tir::Kernel& k;
  const std::vector<Bytes>& inputs;
  const std::vector<Bytes>& wanted;

  std::string run(KernelFn fn, const Cut& cut, double ulp, const std::vector<Bytes>& want,
                  const std::pair<std::uint32_t, std::uint32_t>* shared,
                  std::vector<Bytes>* got) const {
    Run r(k, inputs, shared);
    if (std::string s = execute(k, r, cut, fn); !s.empty()) return s;
    for (std::uint32_t o = 0; o < c.compute.outputs.size(); ++o) {
      const Bytes have = r.output(static_cast<std::uint32_t>(c.compute.inputs.size()) + o);
      if (std::string s = difference(c.compute.output_type(o), want[o], have, ulp, c.at_least);
          !s.empty())
        return fmt::format("output {} {}", o, s);
      if (got) got->push_back(have);
    }
    return "";
  }

  void all(KernelFn fn) const {
    std::vector<Bytes> first;
    CHECK(run(nullptr, whole(k), c.ulp, wanted, nullptr, &first) == "");
    if (first.size() != wanted.size()) return;
    CHECK(run(nullptr, shredded(k), 0, first, nullptr, nullptr) == "");
    for (const auto& pair : k.inplace)
      CHECK(run(nullptr, whole(k), 0, first, &pair, nullptr) == "");
    if (!fn) return;
    CHECK(run(fn, whole(k), 0, first, nullptr, nullptr) == "");
    CHECK(run(fn, shredded(k), 0, first, nullptr, nullptr) == "");
    for (const auto& pair : k.inplace) CHECK(run(fn, shredded(k), 0, first, &pair, nullptr) == "");
  }
};

}  // namespace

Lowered lower(const te::Compute& c, const TargetFacts& facts, bool naive, bool fast_math) {
  OptionValues options;
  options.push_back({.key = "parallel_work", .items = {"0"}});  // chunks whatever the size
  if (naive) options.push_back({.key = "naive", .items = {"true"}});
  if (fast_math) options.push_back({.key = "fast_math", .items = {"true"}});
  Lowered r;
  REQUIRE(te::check(c) == "");
  r.compute = accepted(te_lowering().compute(c, facts, options));
  CHECK(te::check(r.compute) == "");
  r.schedule = accepted(te_lowering().schedule(r.compute, facts, options));
  r.kernel = accepted(te_lowering().kernel(r.compute, r.schedule, facts, options));
  CHECK(tir::check(r.kernel) == "");
  return r;
}

NativeKernel::NativeKernel(const te::Compute& c, bool fast_math)
    : outputs_(c.outputs.size()),
      lowered_(lower(c, llvm_facts(), false, fast_math)),
      code_(NativeKernels::compile({lowered_.kernel}, llvm_facts())) {}

namespace {

std::vector<Bytes> outputs_of(const tir::Kernel& k, KernelFn fn, const std::vector<Bytes>& inputs,
                              std::size_t count) {
  Run r(k, inputs, nullptr);
  REQUIRE(execute(k, r, whole(k), fn) == "");
  std::vector<Bytes> outputs;
  for (std::size_t o = 0; o < count; ++o)
    outputs.push_back(r.output(static_cast<std::uint32_t>(inputs.size() + o)));
  return outputs;
}

}  // namespace

std::vector<Bytes> NativeKernel::run(const std::vector<Bytes>& inputs) const {
  return outputs_of(lowered_.kernel, code_[lowered_.kernel.symbol], inputs, outputs_);
}

std::vector<Bytes> NativeKernel::interpret(const std::vector<Bytes>& inputs) const {
  return outputs_of(lowered_.kernel, nullptr, inputs, outputs_);
}

std::vector<Bytes> run_native(const te::Compute& c, const std::vector<Bytes>& inputs) {
  return NativeKernel(c).run(inputs);
}

void judge_schedules(const te::Compute& c, const std::vector<Schedule>& schedules) {
  const TargetFacts native = llvm_facts();
  std::vector<tir::Kernel> kernels;
  for (const Schedule& s : schedules) {
    CAPTURE(print(s, c));
    kernels.push_back(accepted(te_lowering().kernel(c, s, native, {})));
    CHECK(tir::check(kernels.back()) == "");
    kernels.back().symbol = fmt::format("k{}", kernels.size());
  }
  const NativeKernels code = NativeKernels::compile(kernels, native);
  const Case one{.name = "schedules", .compute = c};
  const Data data(one, 1);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    CAPTURE(print(schedules[i], c));
    const KernelFn fn = runs_here(native) ? code[kernels[i].symbol] : nullptr;
    Judge{one, kernels[i], data.inputs, data.wanted}.all(fn);
  }
}

void judge(const std::vector<Case>& cases) {
  const TargetFacts native = llvm_facts();
  std::vector<TargetFacts> targets{native};
  for (std::uint32_t bytes : {16u, 32u, 64u})
    if (bytes != native.vector_bytes) targets.push_back(plain_facts(bytes, bytes == 64 ? 32 : 16));
  if (!native.multiplies_bytes()) targets.push_back(facts_with_bytes());
  std::vector<std::vector<Lowered>> lowered;  // [case]: naive, then scheduled per target
  std::vector<tir::Kernel> to_compile;
  for (const Case& c : cases) {
    CAPTURE(c.name);
    auto& of = lowered.emplace_back();
    of.push_back(lower(c.compute, native, true));
    for (const TargetFacts& t : targets) of.push_back(lower(c.compute, t));
    for (std::size_t v = 0; v < 2; ++v) {
      of[v].kernel.symbol = fmt::format("k{}_{}", lowered.size(), v);
      to_compile.push_back(of[v].kernel);
    }
  }
  const NativeKernels code = NativeKernels::compile(to_compile, native);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const Data data(c, static_cast<unsigned>(i + 1));
    for (std::size_t v = 0; v < lowered[i].size(); ++v) {
      const tir::Kernel& k = lowered[i][v].kernel;
      const std::string what = fmt::format("{} [{} {}]", c.name, lowered[i][v].schedule.family, v);
      CAPTURE(what);
      Judge{c, k, data.inputs, data.wanted}.all(v < 2 && runs_here(native) ? code[k.symbol]
                                                                           : nullptr);
    }
  }
}

}  // namespace tenon::test
