#include "core/ops/support/common.h"
#include "core/ops/support/window.h"

namespace tenon::ops {

namespace {

Status max_pool_compute(const OpContext& c, te::Builder& b) {
  auto window = window_of(c, c.ints("kernel"));
  auto type = infer_pool(c, number);
  if (!type) return type.errors();
  const Window& w = *window;
  T x = pad_stage(b, b.input(0), w, lowest(b, b.input(0).dtype()));
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    return b.reduce(te::Fold::max, reduce_axes(w.kernel), [&](auto r) {
      std::vector<E> from{i[0], i[1]};
      for (std::size_t k = 0; k < w.rank(); ++k) from.push_back(window_index(w, k, i[k + 2], r[k]));
      return x(from);
    });
  }));
  return {};
}

}  // namespace

OpDef max_pool() {
  return pool_op("max_pool",
                 "Largest element of a window: out[n, c, y, x] = max over i, j of data[n, c, y * "
                 "stride + i * dilation - pad, "
                 "x * stride + j * dilation - pad]; outside of data is the lowest value.",
                 pool_type<number>, max_pool_compute);
}

}  // namespace tenon::ops
