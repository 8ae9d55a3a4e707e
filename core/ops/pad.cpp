#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

enum class Mode { constant, reflect, edge };

Result<Mode> mode_of(const OpContext& c) {
  const std::string& m = *c.attrs->get<std::string>("mode");
  if (m == "constant") return Mode::constant;
  if (m == "reflect") return Mode::reflect;
  if (m == "edge") return Mode::edge;
  return c.error(fmt::format("mode '{}'", m), "use constant, reflect or edge");
}

Result<Types> pad_type(const OpContext& c) {
  if (Status s = need_static(c); !s) return s.errors();
  const TensorType& x = c.operands[0];
  const auto& pads = c.ints("pads");
  if (Status s = need_length(c, "pads", pads.size(), 2 * x.rank(), "sides"); !s) return s.errors();
  auto mode = mode_of(c);
  if (!mode) return mode.errors();
  std::vector<Dim> dims;
  for (std::size_t k = 0; k < x.rank(); ++k) {
    const std::int64_t extent = x.dims[k].value(), before = pads[k], after = pads[x.rank() + k];
    std::int64_t size = 0;
    if (__builtin_add_overflow(extent, before, &size) ||
        __builtin_add_overflow(size, after, &size) || size < 0)
      return c.error(
          fmt::format("pads {} and {} on axis {} of extent {}", before, after, k, extent));
    const std::int64_t reach = *mode == Mode::reflect ? extent - 1 : extent;
    if (*mode != Mode::constant && size > 0 &&
        (extent == 0 || (*mode == Mode::reflect && (before > reach || after > reach))))
      return c.error(fmt::format("mode {} with pads {} and {} on axis {} of extent {}",
                                 *c.attrs->get<std::string>("mode"), before, after, k, extent));
    dims.push_back(Dim(size));
  }
  return Types{TensorType(x.dtype, dims)};
}

Status pad_compute(const OpContext& c, te::Builder& b) {
  auto type = pad_type(c);
  if (!type) return type.errors();
  T x = b.input(0);
  const Shape from = x.shape();
  const auto& pads = c.ints("pads");
  const Mode mode = *mode_of(c);
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    std::vector<E> index;
    E inside = b.imm_int(DType::boolean, 1);
    for (std::size_t k = 0; k < from.size(); ++k) {
      const std::int64_t before = pads[k], after = pads[from.size() + k];
      E j = i[k] - before, last = b.i64(from[k] - 1);
      if (mode == Mode::constant && before > 0) inside = inside && j >= 0;
      if (mode == Mode::constant && after > 0) inside = inside && j < from[k];
      if (mode == Mode::edge && (before > 0 || after > 0)) j = te::min(te::max(j, b.i64(0)), last);
      if (mode == Mode::reflect && before > 0) j = te::max(j, b.i64(0) - j);
      if (mode == Mode::reflect && after > 0) j = te::min(j, last + last - j);
      index.push_back(j);
    }
    return te::select(inside, x(index), b.imm(x.dtype(), c.real("value")));
  }));
  return {};
}

}  // namespace

OpDef pad() {
  OpDef d;
  d.name = "pad";
  d.doc =
      "A border around x: out[i] = x[i - before] where that is inside, else `value` (mode "
      "constant), the nearest element "
      "(edge), or the one mirrored at the border element (reflect); negative pads crop.";
  d.attrs = {{"pads", AttrKind::ints, "elements added: before each axis, then after each axis", {}},
             {"value", AttrKind::real, "border of mode constant", 0.0},
             {"mode", AttrKind::string, "constant, reflect or edge", std::string("constant")}};
  d.fusion = FusionKind::injective;
  d.infer = pad_type;
  d.compute = pad_compute;
  return d;
}

}  // namespace tenon::ops
