// What holds for every op of the table, built-in or not: it is documented, its rules agree with
// each other, its compute obeys the laws of TE and runs as the tree walker does. A new op is
// covered without an edit where the operands made from its fusion kind suit it; else a row in
// `samples` says what does.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "tests/support/te_reference.h"
#include "tests/support/tensors.h"

using namespace tenon;

namespace {

using Ints = std::vector<std::int64_t>;

struct Sample {
  std::vector<TensorType> operands;
  Attrs attrs;
};

TensorType f32(const Shape& s) { return TensorType(DType::f32, s); }
TensorType boolean(const Shape& s) { return TensorType(DType::boolean, s); }

/// Ops with attributes that have no default, or with operands of particular shapes.
std::map<std::string, std::vector<Sample>> samples() {
  const std::int64_t one = 1;
  return {
      {"cast", {{{f32({2, 3})}, {{"to", DType::i32}}}}},
      {"logical_not", {{{boolean({2, 3})}, {}}}},
      {"logical_and", {{{boolean({2, 3}), boolean({3})}, {}}}},
      {"logical_or", {{{boolean({2, 3}), boolean({1})}, {}}}},
      {"where", {{{boolean({3}), f32({2, 3}), f32({2, 1})}, {}}}},
      {"matmul", {{{f32({2, 3}), f32({3, 4})}, {}}, {{f32({5, 2, 3}), f32({3})}, {}}}},
      {"attention",
       {{{f32({2, 3, 5}), f32({2, 4, 5}), f32({4, 6})}, {{"scale", 0.5}}},
        {{f32({3, 5}), f32({4, 5}), f32({4, 6}), f32({3, 4})}, {}},
        {{f32({2, 3, 5}), f32({1, 4, 5}), f32({2, 4, 6}), boolean({2, 1, 4})},
         {{"masked", -1e9}}}}},
      {"conv1d", {{{f32({1, 2, 5}), f32({3, 2, 2}), f32({3})}, {{"pads", Ints{1, 0}}}}}},
      {"conv2d",
       {{{f32({1, 2, 5, 4}), f32({3, 2, 2, 3})}, {{"pads", Ints{1, 0, 0, 1}}}},
        {{f32({1, 4, 5, 4}), f32({4, 1, 2, 3}), f32({4})}, {{"groups", std::int64_t{4}}}}}},
      {"packed_matmul",
       {{{f32({2, 3}), f32({2, 3, 4})}, {}},
        {{f32({5, 2, 3}), f32({1, 3, 2})}, {}},
        {{f32({3}), f32({3, 3, 2})}, {}}}},
      {"packed_integer_matmul",
       {{{TensorType(DType::u8, Shape{2, 8}), TensorType(DType::i8, Shape{3, 2, 5, 4})}, {}},
        {{TensorType(DType::u8, Shape{4}), TensorType(DType::i8, Shape{1, 1, 2, 4})}, {}}}},
      {"packed_integer_conv2d",
       {{{TensorType(DType::u8, Shape{1, 2, 5, 4, 8}),
          TensorType(DType::i8, Shape{3, 2, 2, 3, 2, 5, 4})},
         {{"pads", Ints{1, 0, 0, 1}}, {"pad", std::int64_t{3}}}}}},
      {"packed_conv2d",
       {{{f32({1, 2, 5, 4, 2}), f32({3, 2, 2, 3, 2, 2}), f32({3, 2})},
         {{"pads", Ints{1, 0, 0, 1}}}},
        {{f32({1, 4, 5, 4, 2}), f32({2, 2, 1, 3, 2, 2})}, {{"groups", std::int64_t{2}}}},
        {{f32({1, 3, 5, 4}), f32({2, 3, 2, 3, 2}), f32({2, 2})}, {{"strides", Ints{2, 1}}}},
        {{f32({2, 3, 5, 4, 2}), f32({3, 2, 3, 2})}, {{"pads", Ints{0, 1, 1, 0}}}}}},
      {"conv3d", {{{f32({1, 2, 3, 4, 3}), f32({2, 2, 2, 2, 2})}, {}}}},
      {"max_pool", {{{f32({1, 2, 5, 4})}, {{"kernel", Ints{2, 2}}, {"pads", Ints{0, 1, 1, 0}}}}}},
      {"avg_pool", {{{f32({1, 2, 5, 4})}, {{"kernel", Ints{2, 2}}, {"pads", Ints{0, 1, 1, 0}}}}}},
      {"batch_norm", {{{f32({1, 2, 3}), f32({2}), f32({2}), f32({2}), f32({2})}, {}}}},
      {"reshape", {{{f32({2, 6})}, {{"shape", Ints{3, 4}}}}}},
      {"transpose", {{{f32({2, 3, 4})}, {{"perm", Ints{2, 0, 1}}}}}},
      {"slice",
       {{{f32({4, 5})}, {{"starts", Ints{3, 1}}, {"sizes", Ints{2, 3}}, {"steps", Ints{-2, 1}}}}}},
      {"concat", {{{f32({2, 3}), f32({2, 1}), f32({2, 2})}, {{"axis", one}}}}},
      {"pad",
       {{{f32({2, 3})}, {{"pads", Ints{1, 0, 0, 2}}}},
        {{f32({3})}, {{"pads", Ints{2, 1}}, {"mode", std::string("reflect")}}}}},
      {"gather", {{{f32({4, 3}), TensorType(DType::i64, Shape{2})}, {{"axis", one}}}}},
      {"gather_elements",
       {{{f32({4, 3}), TensorType(DType::i64, Shape{2, 3})}, {{"axis", std::int64_t{0}}}}}},
      {"gather_nd", {{{f32({4, 3, 2}), TensorType(DType::i64, Shape{5, 2})}, {}}}},
      {"expand", {{{f32({2, 1})}, {{"shape", Ints{3, 2, 2}}}}}},
      {"split", {{{f32({5, 2})}, {{"axis", std::int64_t{0}}, {"sizes", Ints{2, 3}}}}}},
      {"full", {{{}, {{"shape", Ints{2, 2}}, {"value", 3.0}}}}},
      {"range", {{{}, {{"count", std::int64_t{5}}}}}},
      {"pack",
       {{{f32({2, 5})}, {{"axis", one}, {"block", std::int64_t{4}}}},
        {{f32({2, 4, 1})}, {{"axis", one}, {"block", std::int64_t{2}}}}}},
      {"unpack",
       {{{f32({2, 2, 4})}, {{"axis", one}, {"size", std::int64_t{7}}}},
        {{f32({2, 2, 1, 4})}, {{"axis", one}, {"size", std::int64_t{8}}}},
        {{f32({1, 2, 1, 4})}, {{"axis", one}, {"size", std::int64_t{7}}}}}},
      {"resize",
       {{{f32({1, 3, 4})}, {{"shape", Ints{1, 5, 4}}, {"mode", std::string("linear")}}},
        {{f32({3, 4})}, {{"shape", Ints{6, 5}}}},
        {{f32({3, 4})}, {{"shape", Ints{5, 8}}, {"mode", std::string("cubic")}}}}},
  };
}

/// Operands for an op whose attributes have defaults: one shape for all; two broadcasting ones for
/// a broadcast op.
std::vector<Sample> made_for(const OpDef& d) {
  std::vector<TensorType> a(d.min_operands, f32({2, 3})), b(d.min_operands, f32({}));
  if (d.fusion == FusionKind::broadcast && d.min_operands == 2) a[1] = f32({4, 1, 3});
  return {{a, {}}, {b, {}}};
}

/// Operations that the reference knows.
bool known_to_reference(const te::Compute& c) {
  for (const te::Expr& e : c.exprs) {
    if (e.kind == te::Kind::scalar &&
        (e.op == ScalarOp::log || e.op == ScalarOp::erf || e.op == ScalarOp::sigmoid ||
         e.op == ScalarOp::sin || e.op == ScalarOp::cos || e.op == ScalarOp::pow ||
         e.op == ScalarOp::mod || e.op == ScalarOp::round_even))
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every op: documented, consistent, lawful, and equal to the tree walker") {
  const auto table = builtin_ops();
  const auto known = samples();
  std::mt19937 rng(12);
  int compared = 0;
  for (std::uint32_t id = node::count; id < table->size(); ++id) {
    const OpDef& d = (*table)[OpId{id}];
    CAPTURE(d.name);
    CHECK(d.doc.size() > 20);
    CHECK(d.doc.back() == '.');
    CHECK_MESSAGE((d.doc.find(':') != std::string::npos), "the doc gives the formula");
    CHECK(d.min_operands <= d.max_operands);
    REQUIRE(bool(d.infer != nullptr));
    REQUIRE(bool(d.compute != nullptr));
    for (const AttrSpec& a : d.attrs) CHECK(!a.doc.empty());
    CHECK((!d.commutative || d.min_operands == 2));
    int accepted = 0;
    const auto it = known.find(d.name);
    for (const Sample& s : it != known.end() ? it->second : made_for(d)) {
      auto types = test::types_of(d.name, s.operands, s.attrs);
      if (!types && it == known.end()) continue;  // rank 0 does not suit every op
      REQUIRE(types);
      ++accepted;
      auto c = test::compute_for(d.name, s.operands, s.attrs);
      REQUIRE(c);
      REQUIRE(te::check(*c) == "");
      REQUIRE(c->outputs.size() == types->size());
      for (std::uint32_t k = 0; k < types->size(); ++k) CHECK(c->output_type(k) == (*types)[k]);
      if (d.fusion == FusionKind::elementwise && !s.operands.empty())
        CHECK((*types)[0].dims == s.operands[0].dims);
      if (d.fusion == FusionKind::elementwise || d.fusion == FusionKind::broadcast)
        for (const te::Stage& stage : c->stages) CHECK(stage.reduce.empty());
      const te::Compute r = te::inline_stages(*c);
      CHECK(te::check(r) == "");
      std::vector<Tensor> in;
      std::vector<const std::byte*> data;
      for (const TensorType& t : s.operands) in.push_back(test::small_integers(t, rng));
      for (const Tensor& t : in) data.push_back(t.bytes.data());
      const auto out = test::run(*c, in), out_inlined = test::run(r, in);
      for (std::size_t k = 0; k < out.size(); ++k) CHECK(out[k].bytes == out_inlined[k].bytes);
      if (!known_to_reference(*c)) continue;
      const auto want = test::TreeWalker(*c, data).run();
      for (std::size_t k = 0; k < out.size(); ++k) {
        if (out[k].type.dtype != DType::f32) {
          CHECK(out[k].bytes == want[k].bytes);
          continue;
        }
        for (std::size_t e = 0; e < out[k].as<float>().size(); ++e) {
          const float x = out[k].as<float>()[e], y = want[k].as<float>()[e];
          CHECK((x == y || (std::isnan(x) && std::isnan(y))));
        }
      }
      ++compared;
    }
    CHECK_MESSAGE(accepted > 0, "no operands suit this op: add a row to samples()");
  }
  CHECK(compared > 40);
}
