// model.h and model.c. Pure: the same program gives the same bytes.
#ifndef TENON_PLUGINS_EXECUTORS_AOT_TEXT_H
#define TENON_PLUGINS_EXECUTORS_AOT_TEXT_H

#include <map>
#include <string>

#include "names.h"
#include "tenon/program.h"

namespace tenon::aot_executor {

std::string header_text(const ExecProgram& p, const Names& n);
/// `kernels`: C text that defines each kernel, with the macro TENON_KERNEL before its type.
/// `comments`: by step name.
Result<std::string> source_text(const ExecProgram& p, const Names& n, const std::string& kernels,
                                const std::map<std::string, std::string>& comments);

/// The C type of an element as callers see it: f16 and bf16 by their bits, boolean as uint8_t, i4
/// and u4 two in a byte.
std::string_view io_type(DType t);

}  // namespace tenon::aot_executor

#endif
