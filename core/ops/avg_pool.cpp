#include "core/ops/support/common.h"
#include "core/ops/support/window.h"

namespace tenon::ops {

namespace {

/// How many taps of the window at output index `i` lie inside of axis k.
E taps_inside(const Window& w, std::size_t k, std::int64_t extent, E i) {
  const std::int64_t d = w.dilations[k];
  E start = i * w.strides[k] - w.before[k];
  E zero = i.b->i64(0);
  E first = te::max(zero, (zero - start + (d - 1)) / d);  // ceil(-start / d)
  E last = te::min(i.b->i64(w.kernel[k] - 1), (i.b->i64(extent - 1) - start) / d);  // floor
  return te::max(zero, last - first + 1);
}

Status avg_pool_compute(const OpContext& c, te::Builder& b) {
  auto window = window_of(c, c.ints("kernel"));
  auto type = infer_pool(c, float_type);
  if (!type) return type.errors();
  const Window& w = *window;
  const Shape in = b.input(0).shape();
  const DType t = b.input(0).dtype();
  const bool count_pads = *c.attrs->get<bool>("count_include_pad");
  T x = pad_stage(b, b.input(0), w, b.imm(t, 0));
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    E sum = b.reduce(te::Fold::sum, reduce_axes(w.kernel), [&](auto r) {
      std::vector<E> from{i[0], i[1]};
      for (std::size_t k = 0; k < w.rank(); ++k) from.push_back(window_index(w, k, i[k + 2], r[k]));
      return x(from);
    });
    E count = b.i64(1);
    for (std::size_t k = 0; k < w.rank(); ++k)
      count = count * (count_pads || !(w.before[k] || w.after[k])
                           ? b.i64(w.kernel[k])
                           : taps_inside(w, k, in[k + 2], i[k + 2]));
    if (const te::Expr& e = b.get().exprs[count.id]; e.kind == te::Kind::imm)
      return sum / b.imm(t, static_cast<double>(e.i));
    return sum / b.cast(count, t);
  }));
  return {};
}

}  // namespace

OpDef avg_pool() {
  OpDef d = pool_op("avg_pool",
                    "Mean of a window: out[n, c, y, x] = (sum over i, j of data[n, c, y * stride + "
                    "i * dilation - pad, x * stride + j "
                    "* dilation - pad]) / count; outside of data is 0; count = elements of the "
                    "window, with count_include_pad "
                    "also those outside.",
                    pool_type<float_type>, avg_pool_compute);
  d.attrs.push_back({"count_include_pad", AttrKind::boolean,
                     "divide by the whole window also at the border", false});
  return d;
}

}  // namespace tenon::ops
