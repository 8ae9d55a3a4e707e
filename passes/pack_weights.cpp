#include "passes/constants.h"
#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/rewrite.h"
#include "tenon/target.h"

namespace tenon::passes {
namespace {

struct WeightOptions {
  std::int64_t panel = 64;
  Bytes stride{2048};
  static constexpr auto fields() {
    return std::tuple{
        Field{"panel",
              &WeightOptions::panel,
              "columns per panel, which divide the columns of the matrix",
              {.min = 1, .max = 4096}},
        Field{"stride", &WeightOptions::stride,
              "a matrix is worth it when its rows are a multiple of this apart: its columns then "
              "share few sets of a cache"}};
  }
};

bool pays(const TensorType& b, const WeightOptions& options) {
  if (b.rank() != 2 || !b.is_static() || bits(b.dtype) < 8) return false;
  const std::int64_t rows = b.dims[0].value(), columns = b.dims[1].value();
  return rows > 1 && columns > options.panel && columns % options.panel == 0 &&
         options.stride.n > 0 &&
         static_cast<std::uint64_t>(columns) * bits(b.dtype) / 8 % options.stride.n == 0;
}

/// Before: %1 = matmul(%0, constant [K, N])
/// After:  %1 = packed_matmul(%0, pack(transpose(constant)))
/// Law: the panels hold the columns of the matrix, all of them, in order.
/// Cost: one walk.
/// Not here: the packs themselves (fold-constants); matrices that are not constant (the lowering
/// copies what it reads badly).
Status run(Module& m, PassContext& ctx) {
  const auto options = read_options<WeightOptions>(ctx.options());
  std::int64_t packed = 0;
  for (Function& f : m.functions) {
    if (f.attrs.get_or("primitive", false)) continue;
    const std::unordered_set<ValueId> constants = constants_of(m, f);
    const Rule rule = [&](Builder& b, const Node& n) -> std::vector<Value> {
      if (m.ops()[n.op].name != "matmul" || !constants.contains(n.operands[1].id()) ||
          n.operands[0].type().rank() == 0 || !pays(n.operands[1].type(), options))
        return {};
      const Value columns =
          b.make("transpose", {n.operands[1]}, {{"perm", std::vector<std::int64_t>{1, 0}}}, n.loc);
      const Value panels =
          b.make("pack", {columns}, {{"axis", std::int64_t{0}}, {"block", options.panel}}, n.loc);
      ++packed;
      return {b.make("packed_matmul", {n.operands[0], panels}, {}, n.loc, n.results[0].name)};
    };
    rewrite(m, f, std::span(&rule, 1));
  }
  remove_dead(m);
  ctx.count("packed", packed);
  return {};
}

}  // namespace

PassInfo pack_weights() {
  return {
      .id = "tenon.pack-weights",
      .doc = "Keep the columns of constant matrices in panels where rows would share cache sets.",
      .needs = {"shapes-static"},
      .gives = {},
      .destroys = {},
      .options = option_rows<WeightOptions>(),
      .run = run};
}

}  // namespace tenon::passes
