#include "core/ops/support/common.h"
#include "core/ops/support/window.h"

namespace tenon::ops {

OpDef conv2d() {
  return conv_op("conv2d", 2,
                 "Convolution over 2 spatial axes, operands data, weight, bias (may be absent): "
                 "out[n, o, y, x] = bias[o] + sum over c, i, j of data[n, c, y * stride + i * "
                 "dilation - pad, x * stride + j * dilation - pad] * weight[o, c, i, j]; "
                 "outside of data is 0; with groups, c runs over the channels of the group of o.");
}

}  // namespace tenon::ops
