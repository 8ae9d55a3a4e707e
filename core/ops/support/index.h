// Index arithmetic that several ops share.
#ifndef TENON_CORE_OPS_SUPPORT_INDEX_H
#define TENON_CORE_OPS_SUPPORT_INDEX_H

#include "core/ops/support/common.h"

namespace tenon::ops {

/// The index in a tensor of shape `from` of the element with the row-major number that `i` has in
/// shape `to`. Both have as many elements. Axes that are only regrouped among themselves keep to
/// themselves: where nothing is regrouped no division appears.
std::vector<E> reshape_index(te::Builder& b, std::span<const E> i, const Shape& to,
                             const Shape& from);

/// An index that data give into an axis of `extent` elements: negative ones count from the end,
/// what is still outside is clamped to the nearest element.
E index_from_data(E k, std::int64_t extent);

}  // namespace tenon::ops

#endif
