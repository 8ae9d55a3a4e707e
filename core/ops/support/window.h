// Sliding windows over the spatial axes of (N, C, spatial...): sizes, type rule, padding stage.
// Convolutions and pools.
#ifndef TENON_CORE_OPS_SUPPORT_WINDOW_H
#define TENON_CORE_OPS_SUPPORT_WINDOW_H

#include "core/ops/support/common.h"

namespace tenon::ops {

/// One entry per spatial axis.
struct Window {
  std::vector<std::int64_t> kernel, strides, dilations, before, after;  ///< before, after: padding
  std::size_t rank() const { return kernel.size(); }
  bool padded() const;
};

/// Attributes strides, dilations, pads: an empty list means ones, ones, zeros.
std::vector<AttrSpec> window_attrs();
/// The window of an op whose kernel has the given extents. Errors: wrong lengths, values out of
/// range.
Result<Window> window_of(const OpContext& c, std::vector<std::int64_t> kernel);
/// floor((extent + before + after - (dilation * (kernel - 1) + 1)) / stride) + 1 per spatial axis.
Result<std::vector<Dim>> output_extents(const OpContext& c, const Window& w,
                                        std::span<const Dim> spatial);

/// `x` itself, or a stage that surrounds the spatial axes of `x` by `value`.
T pad_stage(te::Builder& b, T x, const Window& w, E value);
/// Index of the input along spatial axis k, in the padded tensor: i * stride + r * dilation.
E window_index(const Window& w, std::size_t k, E i, E r);

/// conv1d, conv2d, conv3d.
OpDef conv_op(std::string name, std::size_t spatial, std::string doc);
/// max_pool, avg_pool. `compute` gets static types.
OpDef pool_op(std::string name, std::string doc, Infer infer, Compute compute);
Result<Types> infer_pool(const OpContext& c, TypeSet set);
template <TypeSet set>
Result<Types> pool_type(const OpContext& c) {
  return infer_pool(c, set);
}

}  // namespace tenon::ops

#endif
