#include "tensorise.h"

#include <algorithm>

namespace tenon::te_lowering {

namespace {

/// The load that `id` widens to i32, when its elements are of type `t`.
te::ExprId widened(const te::Compute& c, te::ExprId id, DType t) {
  const te::Expr& e = c.exprs[id];
  if (e.kind != te::Kind::scalar || e.op != ScalarOp::cast || e.dtype != DType::i32)
    return te::none;
  const te::Expr& load = c.exprs[e.args[0]];
  return load.kind == te::Kind::load && load.dtype == t ? e.args[0] : te::none;
}

const Access& access_of(const StageFacts& f, te::ExprId load) {
  return *std::ranges::find(f.loads, load, &Access::load);
}

std::optional<ByteProducts> products_of(const te::Compute& c, const StageFacts& f) {
  if (!f.reduction || f.reduction->fold != te::Fold::sum || f.reduction->dtype != DType::i32)
    return std::nullopt;
  const te::Expr& body = c.exprs[f.reduction->args[0]];
  if (body.kind != te::Kind::scalar || body.op != ScalarOp::mul) return std::nullopt;
  for (std::size_t first : {0u, 1u}) {
    const te::ExprId of_x = widened(c, body.args[first], DType::u8),
                     of_y = widened(c, body.args[1 - first], DType::i8);
    if (of_x == te::none || of_y == te::none) continue;
    const Access &x = access_of(f, of_x), &y = access_of(f, of_y);
    for (std::size_t a = f.n_out; a < f.extent.size(); ++a)
      if (f.extent[a] == tensor_steps && x.step[a] == 1 && y.step[a] == 1)
        return ByteProducts{x, y, static_cast<std::uint32_t>(a)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<ByteProducts> byte_products(const te::Compute& c, const te::Stage& s) {
  return products_of(c, facts_of(c, s));
}

StageFacts facts_for(const te::Compute& c, const te::Stage& s, const TargetFacts& target) {
  StageFacts plain = facts_of(c, s);
  if (!target.multiplies_bytes()) return plain;
  const auto products = products_of(c, plain);
  if (!products) return plain;
  StageFacts f = plain;
  f.tensor = static_cast<int>(products->axis);
  f.extent[products->axis] = 1;
  f.operations = 1;
  for (Access& a : f.loads) {
    if (!a.in_reduction) continue;
    a.step[products->axis] = 0;
    for (std::int64_t& step : a.step) {
      if (step == irregular || step % tensor_steps != 0) return plain;
      step /= tensor_steps;
    }
  }
  return f;
}

}  // namespace tenon::te_lowering
