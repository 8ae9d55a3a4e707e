// integer-products: products and convolutions of bytes mean the same, to the last bit, however they
// are computed.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/pipeline/run.h"
#include "tenon/rewrite.h"
#include "tests/support/registration.h"
#include "tests/support/tensors.h"

using namespace tenon;

namespace {

using Ints = std::vector<std::int64_t>;

/// One product or convolution of bytes less zero points, in a random form; its data are parameters,
/// its weights are constants more often than not.
class RandomProduct {
 public:
  /// `of_reals`: both sides are scaled, by powers of two, and so short that f32 holds the sums.
  explicit RandomProduct(unsigned seed, bool of_reals = false)
      : m_(builtin_ops()), rng_(seed), of_reals_(of_reals) {
    m_.functions.push_back({.name = "main"});
  }

  Module run() {
    Builder b(m_, m_.functions[0]);
    const bool product = of_reals_ || below(3) > 0;
    const std::int64_t inner =
                           of_reals_ ? 4 * below(30) : pick({0, 1, 3, 4, 12, 36, 256, 600, 1100}),
                       columns = pick({1, 15, 16, 48, 64});
    const Shape of_data = product ? pick_shape({{inner}, {5, inner}, {2, 3, inner}})
                                  : Shape{2, below(3) ? 2 : 200, 6, 5};
    const Shape of_weights = product ? pick_shape({{inner, columns},
                                                   {inner, columns},
                                                   {inner, columns},
                                                   {2, inner, columns},
                                                   {inner}})
                                     : Shape{4, of_data[1], 3, 2};
    const DType data = below(4) ? DType::u8 : DType::i8, weights = below(4) ? DType::i8 : DType::u8;
    const bool per_row = product && of_data.size() > 1 && below(3) == 0;
    const bool per_column = product && of_weights.size() > 1 && below(3) == 0;
    Shape rows = of_data, columns_of{columns};
    rows.back() = 1;
    const TensorType x_zero(data, per_row ? rows : Shape{}),
        w_zero(weights, per_column ? columns_of : Shape{});
    const auto in = b.params({{TensorType(data, of_data), 0, "x"},
                              {x_zero, 0, "zx"},
                              {TensorType(weights, of_weights), 0, "w"},
                              {w_zero, 0, "zw"},
                              {TensorType(DType::i32, Shape{4}), 0, "bias"}});
    Value w = in[2];
    if (below(4)) {
      const Tensor t = bytes(w.type());
      w = b.constant(make_constant(t.type, t.bytes));
    }
    const Value x = centred(b, in[0], below(3) ? in[1] : Value{}),
                y = centred(b, w, below(4) ? Value{} : in[3]);
    std::vector<Value> operands{x, y};
    if (!product && below(2)) operands.push_back(in[4]);
    if (of_reals_)
      operands = {scaled(b, x, Shape{}), scaled(b, y, below(2) ? Shape{columns} : Shape{1, 1})};
    const Value sum = b.make(product ? "matmul" : "conv2d", operands,
                             product ? Attrs{} : Attrs{{"pads", Ints{1, 0, 0, 1}}});
    Function& f = m_.functions[0];
    f.body.nodes = b.take();
    f.body.results = {sum};
    f.result_names = {"y"};
    return std::move(m_);
  }

  /// All of the range, its ends more often than not.
  Tensor bytes(const TensorType& t) {
    if (bits(t.dtype) != 8) return test::small_integers(t, rng_);
    Tensor r{t, std::vector<std::byte>(*byte_size(t))};
    for (std::byte& x : r.bytes) {
      const std::byte ends[] = {std::byte{0xff}, std::byte{0x80}, std::byte{0x7f}};
      x = below(2) ? ends[below(3)] : static_cast<std::byte>(rng_());
    }
    return r;
  }

 private:
  std::int64_t below(unsigned n) { return static_cast<std::int64_t>(rng_() % n); }
  std::int64_t pick(Ints v) {
    return v[static_cast<std::size_t>(below(static_cast<unsigned>(v.size())))];
  }
  Shape pick_shape(std::vector<Shape> v) {
    return v[static_cast<std::size_t>(below(static_cast<unsigned>(v.size())))];
  }
  Value scaled(Builder& b, Value whole, const Shape& shape) {
    const Value real = b.make("cast", {whole}, {{"to", DType::f32}});
    if (!shape.empty() && real.type().rank() != 2) return real;  // not what is looked for
    Tensor scale{TensorType(DType::f32, shape), {}};
    scale.bytes.resize(*byte_size(scale.type));
    for (float& s : scale.as<float>()) s = below(2) ? 0.5f : 2.0f;
    return b.make("mul", {real, b.constant(make_constant(scale.type, scale.bytes))});
  }
  static Value centred(Builder& b, Value q, Value zero) {
    const Value wide = b.make("cast", {q}, {{"to", DType::i32}});
    if (!zero.node) return wide;
    return b.make("sub", {wide, b.make("cast", {zero}, {{"to", DType::i32}})});
  }

  Module m_;
  std::mt19937 rng_;
  bool of_reals_;
};

std::size_t count(const Module& m, std::string_view op, DType t) {
  std::size_t n = 0;
  for_each_node(*m.main(), [&](const Node& x) {
    n += m.ops()[x.op].name == op && x.results[0].type.dtype == t;
  });
  return n;
}

}  // namespace

namespace {

/// The module after the pass, which computes the same.
Module judged(const PassInfo& pass, RandomProduct random, const char* groups) {
  Module m = random.run();
  REQUIRE(verify(m));
  std::vector<Tensor> in;
  for (std::uint32_t k = 0; k < 5; ++k) in.push_back(random.bytes(m.main()->param(k).type()));
  const auto before = evaluate(m, *m.main(), in);
  REQUIRE(before);
  REQUIRE(run_pass(m, pass, {{.key = "groups", .items = {groups}}}));
  REQUIRE(verify(m));
  const auto after = evaluate(m, *m.main(), in);
  REQUIRE(after);
  REQUIRE((*after)[0].type == (*before)[0].type);
  REQUIRE((*after)[0].bytes == (*before)[0].bytes);
  return m;
}

}  // namespace

TEST_CASE("integer-products: to the last bit, by groups or in f32, long sums in parts") {
  const PassInfo pass = test::pass_of("tenon.integer-products");
  std::size_t in_groups = 0, in_reals = 0, in_parts = 0, convolutions = 0, left = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const Module m = judged(pass, RandomProduct(seed), seed % 3 ? "2" : "1");
    const std::size_t parts = count(m, "matmul", DType::f32);
    in_groups += count(m, "packed_integer_matmul", DType::i32) > 0;
    in_reals += parts == 1;
    in_parts += parts > 1;
    convolutions += count(m, "conv2d", DType::f32);
    left += count(m, "matmul", DType::i32) + count(m, "conv2d", DType::i32);
  }
  MESSAGE(in_groups << " in groups, " << in_reals << " in f32, " << in_parts << " in parts, "
                    << convolutions << " convolutions in f32, " << left << " left");
  CHECK(in_groups > 15);
  CHECK(in_reals > 100);
  CHECK(in_parts > 20);
  CHECK(convolutions > 50);
  CHECK(left > 0);
}

TEST_CASE("integer-products: products of dequantised bytes, in groups") {
  const PassInfo pass = test::pass_of("tenon.integer-products");
  std::size_t in_groups = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    in_groups += count(judged(pass, RandomProduct(seed, true), "2"), "packed_integer_matmul",
                       DType::i32) > 0;
  }
  MESSAGE(in_groups << " of 400");
  CHECK(in_groups > 20);
}
