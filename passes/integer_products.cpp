#include <algorithm>
#include <array>

#include "passes/constants.h"
#include "passes/quantised.h"
#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"
#include "tenon/target.h"

namespace tenon::passes {
namespace {

struct ProductOptions {
  std::int64_t groups = 0;
  static constexpr auto fields() {
    return std::tuple{Field{"groups",
                            &ProductOptions::groups,
                            "of four bytes, which an instruction multiplies: 0 where the target "
                            "has it, 1 never, 2 always",
                            {.min = 0, .max = 2}}};
  }
};

/// Sums of products of integers up to this are exact in f32, in any order.
constexpr std::int64_t exact_in_f32 = 1 << 24;
/// Columns of a panel: one vector, so that what a tile reads of a panel lies side by side.
constexpr std::int64_t panel = 16;

class Products {
 public:
  Products(const Module& m, const Function& f, bool in_groups)
      : ops_(m.ops()),
        quantised_(ops_),
        matmul_(ops_.at("matmul")),
        convs_{ops_.at("conv1d"), ops_.at("conv2d"), ops_.at("conv3d")},
        constants_(constants_of(m, f)),
        in_groups_(in_groups) {}

  std::vector<Value> rewritten(Builder& b, const Node& n) const {
    const bool product = n.op == matmul_;
    if (product && n.results[0].type.dtype == DType::f32) return scaled(b, n);
    if (!product && std::ranges::find(convs_, n.op) == convs_.end()) return {};
    const auto x = quantised_.centred(n.operands[0]), y = quantised_.centred(n.operands[1]);
    if (!x || !y) return {};
    if (product && in_groups_ && is_in_groups(*x, *y))
      return {grouped(b, n, *x, *y, n.results[0].name)};
    return product ? product_of_reals(b, n, *x, *y) : convolution_of_reals(b, n, *x, *y);
  }

 private:
  /// Whether `y` is a constant matrix whose products with `x` the instruction does.
  bool is_in_groups(const Centred& x, const Centred& y) const {
    const TensorType &a = x.q.type(), &w = y.q.type();
    if (a.dtype != DType::u8 || w.dtype != DType::i8 || y.zero.node || a.rank() == 0 ||
        w.rank() != 2 || !constants_.contains(y.q.id()))
      return false;
    // A zero point per row, or one for all.
    if (x.zero.node && x.zero.type().rank() > 0 &&
        (x.zero.type().rank() > a.rank() || !(x.zero.type().dims.back() == Dim(1))))
      return false;
    const std::int64_t rows = w.dims[0].value(), columns = w.dims[1].value();
    return rows > 0 && rows % 4 == 0 && columns > 0 && columns % panel == 0;
  }

  // (q - z) w = q w - z (sum of each column of w)
  static Value grouped(Builder& b, const Node& n, const Centred& x, const Centred& y,
                       const std::string& name) {
    using Ints = std::vector<std::int64_t>;
    const std::int64_t rows = y.q.type().dims[0].value(), columns = y.q.type().dims[1].value();
    const Value apart =
        b.make("reshape", {y.q}, {{"shape", Ints{rows / 4, 4, columns / panel, panel}}}, n.loc);
    const Value panels = b.make("transpose", {apart}, {{"perm", Ints{2, 0, 3, 1}}}, n.loc);
    const auto times_panels = [&](Value q, const std::string& called) {
      return b.make("packed_integer_matmul", {q, panels}, {}, n.loc, called);
    };
    if (!x.zero.node) return times_panels(x.q, name);
    const Value ones =
        b.make("full", {}, {{"shape", Ints{rows}}, {"value", 1.0}, {"dtype", DType::u8}}, n.loc);
    const Value zeros = b.make("mul", {x.zero, times_panels(ones, "")}, {}, n.loc);
    return b.make("sub", {times_panels(x.q, ""), zeros}, {}, n.loc, name);
  }

  // s (q - z) * t w = ((q - z) w) (s t), t of each column or of all
  std::vector<Value> scaled(Builder& b, const Node& n) const {
    const auto x = quantised_.dequantised(n.operands[0]), y = quantised_.dequantised(n.operands[1]);
    if (!in_groups_ || !x || !y || !is_in_groups(x->of, y->of)) return {};
    const std::int64_t columns = y->of.q.type().dims[1].value();
    const Shape of_weights = y->scale.type().shape();
    const bool per_column = elements(y->scale.type()) == static_cast<std::uint64_t>(columns) &&
                            !of_weights.empty() && of_weights.back() == columns;
    if (elements(x->scale.type()) != 1 || (!per_column && elements(y->scale.type()) != 1))
      return {};
    const auto as = [&](Value v, Shape shape) {
      return b.make("reshape", {v}, {{"shape", std::move(shape)}}, n.loc);
    };
    const Value scale = b.make(
        "mul", {as(x->scale, {}), as(y->scale, per_column ? Shape{columns} : Shape{})}, {}, n.loc);
    const Value sum =
        b.make("cast", {grouped(b, n, x->of, y->of, "")}, {{"to", DType::f32}}, n.loc);
    return {b.make("mul", {sum, scale}, {}, n.loc, n.results[0].name)};
  }

  static Value real(Builder& b, const Centred& x, const Loc& loc) {
    const Value q = b.make("cast", {x.q}, {{"to", DType::f32}}, loc);
    if (!x.zero.node) return q;
    return b.make("sub", {q, b.make("cast", {x.zero}, {{"to", DType::f32}}, loc)}, {}, loc);
  }
  static Value whole(Builder& b, Value v, const Loc& loc, const std::string& name) {
    return b.make("cast", {v}, {{"to", DType::i32}}, loc, name);
  }

  /// Sums that are too long for f32 are taken apart.
  static std::vector<Value> product_of_reals(Builder& b, const Node& n, const Centred& x,
                                             const Centred& y) {
    const Value left = real(b, x, n.loc), right = real(b, y, n.loc);
    const auto row = static_cast<std::int64_t>(left.type().rank()) - 1,
               column =
                   std::max<std::int64_t>(static_cast<std::int64_t>(right.type().rank()) - 2, 0);
    const std::int64_t size = left.type().dims.back().value();
    const std::int64_t most = exact_in_f32 / (x.reach * y.reach);
    const auto part = [&](Value v, std::int64_t axis, std::int64_t at) {
      if (size <= most) return v;
      Shape starts(v.type().rank(), 0), sizes = v.type().shape(), steps(starts.size(), 1);
      starts[static_cast<std::size_t>(axis)] = at;
      sizes[static_cast<std::size_t>(axis)] = std::min(most, size - at);
      return b.make("slice", {v}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}}, n.loc);
    };
    Value sum;
    for (std::int64_t at = 0; at == 0 || at < size; at += most) {
      const bool last = at + most >= size;
      const Value product =
          b.make("matmul", {part(left, row, at), part(right, column, at)}, {}, n.loc);
      const Value exact =
          whole(b, product, n.loc, at == 0 && last ? n.results[0].name : std::string());
      sum = at == 0 ? exact : b.make("add", {sum, exact}, {}, n.loc, last ? n.results[0].name : "");
    }
    return {sum};
  }

  static std::vector<Value> convolution_of_reals(Builder& b, const Node& n, const Centred& x,
                                                 const Centred& y) {
    std::int64_t most = exact_in_f32 / (x.reach * y.reach);
    for (std::size_t d = 1; d < y.q.type().rank(); ++d) {
      const std::int64_t extent = y.q.type().dims[d].value();
      if (extent > most) return {};
      most /= std::max<std::int64_t>(extent, 1);
    }
    const Value real_sum = b.make(n.op, {real(b, x, n.loc), real(b, y, n.loc)}, n.attrs, n.loc);
    const bool biased = n.operands.size() > 2;
    const Value sum = whole(b, real_sum, n.loc, biased ? std::string() : n.results[0].name);
    if (!biased) return {sum};
    std::vector<std::int64_t> shape(sum.type().rank() - 1, 1);
    shape[0] = n.operands[2].type().dims[0].value();
    const Value bias = b.make("reshape", {n.operands[2]}, {{"shape", shape}}, n.loc);
    return {b.make("add", {sum, bias}, {}, n.loc, n.results[0].name)};
  }

  const OpTable& ops_;
  Quantised quantised_;
  OpId matmul_;
  std::array<OpId, 3> convs_;
  std::unordered_set<ValueId> constants_;
  bool in_groups_;
};

/// Before: %3 = matmul(sub(cast<i32>(%0), %1), cast<i32>(constant of i8))
/// After:  %3 = sub(packed_integer_matmul(%0, panels), mul(%1, sums of columns))
///     or  %3 = cast<i32>(matmul(sub(cast<f32>(%0), cast<f32>(%1)), cast<f32>(constant)))
///     and  %3 = matmul of two such, each cast to f32 and scaled, that product, cast and scaled
/// Law: products of integers of eight bits stay what they are, to the last bit: the instruction
/// wraps as i32 does, and f32 holds every partial sum up to 2^24; longer sums are taken apart.
/// Of dequantised bytes, only what they are scaled by is rounded.
/// Cost: one walk.
/// Not here: what depends on constants alone (fold-constants); weights of u8, or with zero points,
/// in groups; convolutions of more than 2^24 (they stay integer arithmetic).
Status run(Module& m, PassContext& ctx) {
  const auto options = read_options<ProductOptions>(ctx.options());
  const TargetFacts* target = ctx.target();
  const bool in_groups =
      options.groups == 2 || (options.groups == 0 && target && target->multiplies_bytes());
  std::int64_t rewritten = 0;
  for (Function& f : m.functions) {
    if (f.attrs.get_or("primitive", false)) continue;
    const Products products(m, f, in_groups);
    const Rule rule = [&](Builder& b, const Node& n) {
      auto v = products.rewritten(b, n);
      rewritten += !v.empty();
      return v;
    };
    rewrite(m, f, std::span(&rule, 1));
  }
  remove_dead(m);
  ctx.count("products", rewritten);
  return {};
}

}  // namespace

PassInfo integer_products() {
  return {.id = "tenon.integer-products",
          .doc = "Products of integers of eight bits by an instruction of the target, or in f32.",
          .needs = {"shapes-static"},
          .gives = {},
          .destroys = {},
          .options = option_rows<ProductOptions>(),
          .run = run};
}

}  // namespace tenon::passes
