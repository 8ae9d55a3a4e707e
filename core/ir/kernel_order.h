// The order in which a kernel is read: statements in the order of the lists, bodies before their
// owner gets its number, expressions of a statement in the order of slots().
#ifndef TENON_CORE_IR_KERNEL_ORDER_H
#define TENON_CORE_IR_KERNEL_ORDER_H

#include <vector>

#include "tenon/kernel.h"

namespace tenon::tir {

/// Expressions that a statement uses, in the order in which the text form writes them.
std::vector<ExprId> slots(const Stmt& s);
/// Whether statement ids are those that reading the text gives: 0, 1, 2, ..., the owner of a body
/// after the body.
bool statements_in_order(const Kernel& k);

}  // namespace tenon::tir

#endif
