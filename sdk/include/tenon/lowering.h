// Lowerings: region -> compute -> schedule -> kernel. Three sub-slots; a plugin may bring any of
// them.
#ifndef TENON_LOWERING_H
#define TENON_LOWERING_H

#include <string>
#include <vector>

#include "tenon/ir.h"
#include "tenon/options.h"
#include "tenon/target.h"

namespace tenon {

struct LoweringInfo {
  std::string id;  ///< tenon.te
  std::string doc;
  std::vector<OptionRow> options;
  /// The composed description of a primitive -> the one that will be scheduled (inlined, axes
  /// collapsed). The inputs and outputs keep their order and their bytes; shapes may be reshaped.
  Result<te::Compute> (*compute)(const te::Compute&, const TargetFacts&,
                                 const OptionValues&) = nullptr;
  Result<Schedule> (*schedule)(const te::Compute&, const TargetFacts&,
                               const OptionValues&) = nullptr;
  /// Symbol is given by the caller afterwards.
  Result<tir::Kernel> (*kernel)(const te::Compute&, const Schedule&, const TargetFacts&,
                                const OptionValues&) = nullptr;
};

}  // namespace tenon

#endif
