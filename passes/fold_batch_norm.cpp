#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"

namespace tenon::passes {
namespace {

// The factor and the shift of an inference batch norm: y = x * factor + shift, per channel.
struct Affine {
  Value factor, shift;  // rank 1: [channels]
};

Affine affine_of(Builder& b, const Node& bn) {
  const auto& in = bn.operands;  // x, scale, bias, mean, variance
  const DType t = in[1].type().dtype;
  Value eps = b.constant(make_constant(TensorType(DType::f32, Shape{}),
                                       std::span<const float>(std::vector<float>{
                                           static_cast<float>(*bn.attrs.get<double>("epsilon"))})),
                         bn.loc);
  if (t != DType::f32) eps = b.make("cast", {eps}, {{"to", t}}, bn.loc);
  Value factor =
      b.make("div", {in[1], b.make("sqrt", {b.make("add", {in[4], eps}, {}, bn.loc)}, {}, bn.loc)},
             {}, bn.loc);
  Value shift = b.make("sub", {in[2], b.make("mul", {in[3], factor}, {}, bn.loc)}, {}, bn.loc);
  return {factor, shift};
}

// [c] -> [c, 1, 1, ...] with `tail` ones.
Value column(Builder& b, Value v, std::size_t tail, const Loc& loc) {
  std::vector<std::int64_t> shape{v.type().dims[0].value()};
  shape.insert(shape.end(), tail, 1);
  return b.make("reshape", {v}, {{"shape", shape}}, loc);
}

/// Before: batch_norm(conv2d(x, w, b), scale, bias, mean, var)
/// After:  conv2d(x, w * f, b * f + s)  with f = scale / sqrt(var + eps), s = bias - mean * f
/// Law: batch norm at inference is affine per channel, and a convolution is linear in its weights.
/// A batch norm elsewhere becomes x * f + s.
/// Cost: one walk; weights are multiplied once, by fold-constants.
/// Not here: the arithmetic itself (fold-constants). Statistics that are computed at run time stay
/// exact, unfolded.
Status run(Module& m, PassContext& ctx) {
  const auto conv = m.ops().at("conv2d");
  const auto norm = m.ops().at("batch_norm");
  std::int64_t folded = 0, apart = 0;
  for (Function& f : m.functions) {
    if (!f.body.entry) continue;
    // A convolution that others use too would be computed twice: count uses before rewriting.
    std::unordered_map<ValueId, std::size_t> count;
    const Uses all(f);
    for_each_node(f, [&](const Node& n) {
      if (n.op == conv) count[n.results[0].id] = all.count({&n, 0});
    });
    const Rule fold = [&](Builder& b, const Node& n) -> std::vector<Value> {
      if (n.op != norm || !n.operands[0].type().is_static()) return {};
      for (std::size_t i = 1; i < 5; ++i)
        if (!constant_of(n.operands[i])) return {};
      const Value x = n.operands[0];
      const bool into = x.node->op == conv && count[x.id()] == 1 &&
                        constant_of(x.node->operands[1]) &&
                        (x.node->operands.size() < 3 || constant_of(x.node->operands[2]));
      const Affine a = affine_of(b, n);
      if (!into) {
        ++apart;
        const std::size_t tail = x.type().rank() - 2;
        Value y = b.make("mul", {x, column(b, a.factor, tail, n.loc)}, {}, n.loc);
        return {b.make("add", {y, column(b, a.shift, tail, n.loc)}, {}, n.loc)};
      }
      ++folded;
      const Node& c = *x.node;
      const Value w = b.make(
          "mul", {c.operands[1], column(b, a.factor, c.operands[1].type().rank() - 1, n.loc)}, {},
          n.loc);
      Value bias = a.shift;
      if (c.operands.size() == 3)
        bias = b.make("add", {b.make("mul", {c.operands[2], a.factor}, {}, n.loc), a.shift}, {},
                      n.loc);
      return {b.make(conv, {c.operands[0], w, bias}, c.attrs, c.loc)};
    };
    rewrite(m, f, std::span(&fold, 1));
  }
  remove_dead(m);
  ctx.count("folded into convolutions", folded);
  ctx.count("made affine", apart);
  return {};
}

}  // namespace

PassInfo fold_batch_norm() {
  return {.id = "tenon.fold-batch-norm",
          .doc = "Fold inference batch norms into the convolutions before them.",
          .needs = {},
          .gives = {},
          .destroys = {},
          .options = {},
          .run = run};
}

}  // namespace tenon::passes
