#include "core/ops/support/common.h"
#include "core/ops/support/window.h"

namespace tenon::ops {

OpDef conv3d() {
  return conv_op("conv3d", 3,
                 "Convolution over 3 spatial axes, operands data, weight, bias (may be absent): "
                 "out[n, o, z, y, x] = bias[o] + sum over c, h, i, j of data[n, c, z, y, x moved "
                 "by the window] * weight[o, c, h, i, j]; "
                 "outside of data is 0; with groups, c runs over the channels of the group of o.");
}

}  // namespace tenon::ops
