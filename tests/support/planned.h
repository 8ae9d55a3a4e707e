// The road from a lowered module to a run on the reference executor, as every pipeline takes it;
// each plan is judged.
#ifndef TENON_TESTS_SUPPORT_PLANNED_H
#define TENON_TESTS_SUPPORT_PLANNED_H

#include <doctest/doctest.h>

#include <cstring>

#include "core/program/normalise.h"
#include "core/program/program.h"
#include "core/program/reference.h"
#include "core/storage/folding.h"
#include "core/storage/judge.h"
#include "core/storage/liveness.h"
#include "core/storage/placement.h"
#include "tests/support/storage_fixture.h"

namespace tenon::test {

struct Planned {
  StorageValues values;
  StorageRequest request;
  StoragePlan plan;
  ExecProgram program;

  const StorageToken* token(std::string_view member) const {
    for (const StorageToken& t : request.tokens) {
      for (const TokenMember& m : t.members) {
        if (m.name == member) return &t;
      }
    }
    return nullptr;
  }
  const StorageValue* value(std::string_view name) const {
    for (const StorageValue& v : values.values) {
      if (v.name == name) return &v;
    }
    return nullptr;
  }
  /// Where a value is: pool and offset.
  Slot slot(std::string_view member) const {
    for (std::size_t k = 0; k < request.tokens.size(); ++k) {
      for (const TokenMember& m : request.tokens[k].members) {
        if (m.name == member) return {plan.slots[k].pool, plan.slots[k].offset + m.offset};
      }
    }
    FAIL("no value ", std::string(member));
    return {};
  }
  const PoolUse& use(std::string_view pool) const {
    for (std::size_t p = 0; p < request.pools.size(); ++p) {
      if (request.pools[p].id == pool) return plan.pools[p];
    }
    FAIL("no pool ", std::string(pool));
    return plan.pools[0];
  }
  std::uint64_t peak(std::string_view pool) const { return use(pool).peak; }
  std::uint64_t bound(std::string_view pool) const { return use(pool).bound; }
};

/// `m` is normalised on the way. Fails the test when any part fails.
inline Planned plan_module(Module& m, const MemoryConfig& config = {},
                           const std::string& planner = "greedy") {
  make_outputs_ownable(m);
  Planned p;
  auto values = storage_values(m, config);
  REQUIRE_MESSAGE(values, text(values.status()));
  p.values = *std::move(values);
  auto request = fold(p.values);
  REQUIRE_MESSAGE(request, text(request.status()));
  p.request = *std::move(request);
  auto solved = solve(p.request, load_planner(planner), settings());
  REQUIRE_MESSAGE(solved, text(solved.status()));
  p.plan = solved->plan;
  const Status judged = judge_plan(p.values, p.request, p.plan);
  REQUIRE_MESSAGE(judged, text(judged));
  auto program = build_program(m, p.values, p.request, p.plan);
  REQUIRE_MESSAGE(program, text(program.status()));
  p.program = *std::move(program);
  return p;
}

/// A tensor of small integers that depends on the seed.
inline Tensor small_integers(const TensorType& type, Rng& rng) {
  Tensor t{type, std::vector<std::byte>(*byte_size(type))};
  const std::uint64_t n = *elements(type);
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto v = static_cast<std::int64_t>(rng.below(9)) - 4;
    const auto put = [&](auto x) { std::memcpy(t.bytes.data() + i * sizeof x, &x, sizeof x); };
    switch (type.dtype) {
      case DType::f32:
        put(static_cast<float>(v));
        break;
      case DType::f64:
        put(static_cast<double>(v));
        break;
      case DType::i64:
      case DType::u64:
        put(v);
        break;
      case DType::i32:
      case DType::u32:
        put(static_cast<std::int32_t>(v));
        break;
      case DType::i16:
      case DType::u16:
        put(static_cast<std::int16_t>(v));
        break;
      case DType::boolean:
        put(static_cast<std::uint8_t>(v & 1));
        break;
      case DType::i8:
      case DType::u8:
        put(static_cast<std::int8_t>(v));
        break;
      default:
        break;  // zeros
    }
  }
  return t;
}
inline std::vector<Tensor> random_inputs(const Module& m, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> in;
  for (const NodeResult& r : m.main()->body.entry->results)
    in.push_back(small_integers(r.type, rng));
  return in;
}

/// Bitwise, with types.
inline bool same_tensors(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.type == y.type && x.bytes == y.bytes;
  });
}

/// Runs on the reference executor and compares with the evaluator; returns the poisoned bytes.
inline std::uint64_t run_and_compare(const Module& m, const Planned& p, std::uint64_t seed = 1) {
  const std::vector<Tensor> in = random_inputs(m, seed);
  auto expected = evaluate(m, *m.main(), in);
  REQUIRE_MESSAGE(expected, text(expected.status()));
  auto run = run_reference(m, p.program, in);
  REQUIRE_MESSAGE(run, text(run.status()));
  CHECK(same_tensors(run->outputs, *expected));
  return run->poisoned;
}

}  // namespace tenon::test

#endif
