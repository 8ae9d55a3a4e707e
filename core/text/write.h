// The parts of the printer. Each appends to `out`; all of them print any value, also one that
// breaks the laws of the IR.
#ifndef TENON_CORE_TEXT_WRITE_H
#define TENON_CORE_TEXT_WRITE_H

#include <string>
#include <string_view>
#include <vector>

#include "tenon/ir.h"
#include "tenon/storage.h"
#include "tenon/text.h"

namespace tenon::text {

using Symbols = std::vector<SymbolInfo>;

void put_type(std::string& out, const TensorType& t, const Symbols& symbols);
/// `f32`, `f32x8`
void put_element(std::string& out, DType t, unsigned lanes);
/// `{a = 1, b = "x"}`. The attribute called `without` is left out.
void put_attrs(std::string& out, const Attrs& attrs, const Symbols& symbols, Blobs* blobs,
               std::string_view without = "");
void put_function(std::string& out, const Module& m, const Function& f,
                  const PrintOptions& options);
void put_compute(std::string& out, const te::Compute& c, std::string_view name,
                 const Schedule* schedule);
void put_schedule(std::string& out, const Schedule& s, const te::Compute& c,
                  std::string_view indent);
/// `f` is null for a kernel outside of a module.
void put_kernel(std::string& out, const tir::Kernel& k, const KernelFunction* f);
void put_plan(std::string& out, const StoragePlan& p);

/// Constants of up to this many scalars print inline.
inline constexpr std::size_t inline_elements = 16;

}  // namespace tenon::text

#endif
