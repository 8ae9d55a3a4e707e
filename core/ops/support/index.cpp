#include "core/ops/support/index.h"

namespace tenon::ops {

E index_from_data(E k, std::int64_t extent) {
  te::Builder& b = *k.b;
  k = b.cast(k, DType::i64);
  k = te::select(k < 0, k + extent, k);
  return te::min(te::max(k, b.i64(0)), b.i64(extent - 1));
}

std::vector<E> reshape_index(te::Builder& b, std::span<const E> i, const Shape& to,
                             const Shape& from) {
  std::vector<E> index(from.size(), b.i64(0));
  for (std::int64_t d : from)
    if (d == 0) return index;  // no elements: nothing is ever loaded
  std::size_t t = 0, f = 0;
  while (t < to.size() || f < from.size()) {
    // The shortest runs of axes on both sides that hold equally many elements.
    std::size_t t_end = t, f_end = f;
    std::int64_t t_count = 1, f_count = 1;
    if (t_end < to.size()) t_count *= to[t_end++];
    if (f_end < from.size()) f_count *= from[f_end++];
    while (t_count != f_count) {
      if (t_count < f_count)
        t_count *= to[t_end++];
      else
        f_count *= from[f_end++];
    }
    E number = b.i64(0);
    for (std::size_t k = t; k < t_end; ++k) number = to[k] == 1 ? number : number * to[k] + i[k];
    std::int64_t stride = f_count;
    for (std::size_t k = f; k < f_end; ++k) {
      const bool first = stride == f_count;
      stride /= from[k];
      if (from[k] == 1) continue;
      index[k] = first ? number / stride : number / stride % from[k];
    }
    t = t_end;
    f = f_end;
  }
  return index;
}

}  // namespace tenon::ops
