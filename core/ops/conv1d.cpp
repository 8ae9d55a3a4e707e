#include "core/ops/support/common.h"
#include "core/ops/support/window.h"

namespace tenon::ops {

OpDef conv1d() {
  return conv_op("conv1d", 1,
                 "Convolution over 1 spatial axis, operands data, weight, bias (may be absent): "
                 "out[n, o, x] = bias[o] + sum over c, j of data[n, c, x * stride + j * dilation - "
                 "pad] * weight[o, c, j]; "
                 "outside of data is 0; with groups, c runs over the channels of the group of o.");
}

}  // namespace tenon::ops
