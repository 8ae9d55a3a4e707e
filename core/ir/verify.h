// The laws of the IR. tenon::verify (tenon/ir.h) checks all of them before and after each stage. A
// pass may rely on them and never crashes on a module for which they hold. A breach of law n has
// the code TN30nn.
//
// Module
//  V1  Symbols have unique, non-empty names and 0 <= min <= max.
//  V2  Functions, computes and kernels have non-empty names, unique among their kind; a kernel's
//      symbol is a C identifier.
//  V3  Types: each dim is >= 0 or a symbol of the module; lanes >= 1; a static type has less than
//      2^63 bytes.
//
// Bodies (of functions and regions)
//  V4  The entry is a node of kind `param` without operands, attributes or regions; no other
//      `param` stands in a body.
//  V5  Operands and results are values of nodes that stand earlier, in the same body or one that
//      encloses it.
//  V6  Value ids are unique among the values of a function and smaller than its next_id.
//  V7  A function has one result name per result.
//  V8  Each node is known to the op table and stands in one place of its function.
//  V9  The numbers of operands, results and regions are those of the op.
//  V10 Each attribute of the op's schema is there with its kind. Others are notes of passes and
//      plugins, and stay.
//  V11 Result types are what the op's type rule says. Here and in V13 to V15 a symbol may be
//      declared where a number is known by now: shapes are set before `infer-shapes` spreads them.
//  V12 Regions nest to 64.
//
// Structural nodes
//  V13 primitive: the region sees nothing outside, its parameters have the operands' types, its
//      results the node's.
//  V14 branch: operand 0 is a boolean scalar, regions without parameters whose results have the
//      node's types. loop: operand 0 is an i64 scalar; parameters are i64 and carried; the results
//      of region and node have the carried types.
//  V15 call: the callee exists, parameters and results have the types of the node. No function
//      calls itself, however indirectly.
//  V16 call_kernel: the callee exists; there is one operand per input and one result per output, of
//      the elements and bytes of the kernel's buffer.
//  V17 view: offset >= 0, and offset + bytes of the result lie within the operand. copy, debug: the
//      result has the operand's type.
//  V18 Constants are there, static, and have exactly the bytes of their type.
//
// Computes and kernels
//  V19 A compute keeps the laws of te::check; fields that a kind of expression does not use keep
//      their default.
//  V20 A schedule has one row per stage; its loops name axes of the stage, with steps > 0; a row at
//      worker scratch names a later stage and one of its loops.
//  V21 A kernel keeps the laws of tir::check.
//  V22 A kernel's compute exists and has as many inputs and outputs, of the same elements and
//      sizes, as the kernel.
#ifndef TENON_CORE_IR_VERIFY_H
#define TENON_CORE_IR_VERIFY_H

#include <map>
#include <string>

#include "tenon/ir.h"

namespace tenon {

/// Where a reader found what has no location of its own.
struct Places {
  Loc module;
  std::map<std::string, Loc, std::less<>> symbols, computes, kernels;
};

/// verify(m) whose messages point into a file.
Status verify(const Module& m, const Places& places);

/// First breach of V19 besides te::check, or "".
std::string check_plain(const te::Compute& c);
/// First breach of V20, or "".
std::string check_schedule(const Schedule& s, const te::Compute& c);

}  // namespace tenon

#endif
