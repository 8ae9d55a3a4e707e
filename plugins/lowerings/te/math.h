// Scalar operations of a kernel. Transcendentals become polynomials here, so that every target
// computes the same bits.
#ifndef TENON_PLUGINS_LOWERINGS_TE_MATH_H
#define TENON_PLUGINS_LOWERINGS_TE_MATH_H

#include <vector>

#include "code.h"

namespace tenon::te_lowering {

/// `op` of `args`, whatever it takes; `fast`: within the wider bounds of the table in README.md.
ExprId scalar(Code& code, ScalarOp op, DType result, const std::vector<ExprId>& args, bool fast);
/// Whether scalar() can make it.
bool supported(ScalarOp op, DType operand);

}  // namespace tenon::te_lowering

#endif
