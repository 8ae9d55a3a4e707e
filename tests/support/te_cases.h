// Compute descriptions of common shapes of work, for tests of lowerings. Tests build their own
// where they need others.
#ifndef TENON_TESTS_SUPPORT_TE_CASES_H
#define TENON_TESTS_SUPPORT_TE_CASES_H

#include <cstdint>
#include <functional>

#include "tenon/te.h"

namespace tenon::test {

using te::E;
using te::T;
using Index = std::span<const E>;

/// The elementwise tail of an anchor: value, then index -> value.
using Tail = std::function<E(te::Builder&, E, Index)>;

struct Conv {
  std::int64_t n = 1, c = 1, h = 1, w = 1, o = 1, kh = 1, kw = 1;
  std::int64_t stride = 1, pad = 0, dilation = 1, groups = 1;
  bool bias = false, relu = false, residual = false;
  DType dtype = DType::f32;
  std::int64_t out_h() const { return (h + 2 * pad - dilation * (kh - 1) - 1) / stride + 1; }
  std::int64_t out_w() const { return (w + 2 * pad - dilation * (kw - 1) - 1) / stride + 1; }
};
/// Inputs: x [n,c,h,w], w [o, c/groups, kh, kw], then bias [o] and residual [n,o,oh,ow] when asked
/// for.
te::Compute conv(const Conv& p);
/// The same over packed channels: x [n, c/block, h, w, block], w [o/block, c/block, kh, kw, block
/// of c, block of o] (depthwise: [c/block, kh, kw, block]), bias and residual likewise; the last
/// block is filled up. Fewer input channels than a block come unpacked: x [n,c,h,w], w [o/block, c,
/// kh, kw, block]. Groups: one, or as many as channels.
te::Compute packed_conv(const Conv& p, std::int64_t block);
/// out[b,m,n] = sum over k. Without batch when b is 0.
te::Compute matmul(std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k,
                   bool transposed = false, DType t = DType::f32);
/// The same of one product, over b in panels of `width` columns: [n/width, k, width], width divides
/// n.
te::Compute panel_matmul(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t width);
/// out[m,n], i32, of x u8 [m, 4 groups] and w i8 [n/width, groups, width, 4], width divides n; as
/// f32, scaled and shifted by inputs [n], when asked for.
te::Compute byte_matmul(std::int64_t m, std::int64_t n, std::int64_t groups, std::int64_t width,
                        bool scaled = false);
/// Window fold of x [n,c,h,w]: maximum or sum.
te::Compute pool(const Conv& p, te::Fold fold);
te::Compute softmax(const Shape& shape, std::size_t axis);
te::Compute layer_norm(std::int64_t rows, std::int64_t cols);
/// Softmax between two products, per head: q [m,heads,d], k [n,heads,d], v [n,heads,e] and, when
/// asked for, a mask [n] that is added; out [m,heads,e].
struct Attention {
  std::int64_t heads = 1, m = 1, n = 1, d = 1, e = 1;
  bool mask = false;
};
te::Compute attention(const Attention& p);
/// Folds the axes of `over` of one input.
te::Compute fold_axes(const Shape& shape, const std::vector<std::size_t>& over, te::Fold fold,
                      DType t = DType::f32);
/// Elementwise over inputs of `shapes` broadcast to `out`.
te::Compute elementwise(const Shape& out, const std::vector<Shape>& shapes, DType t,
                        const std::function<E(te::Builder&, std::vector<E>)>& fn);
te::Compute transpose(const Shape& shape, const std::vector<std::size_t>& perm,
                      DType t = DType::f32);

}  // namespace tenon::test

#endif
