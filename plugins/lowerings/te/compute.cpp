// The first sub-slot: the composed description -> the one that is scheduled.
#include "lowering.h"

namespace tenon::te_lowering {

Result<te::Compute> compute(const te::Compute& c, const TargetFacts&, const OptionValues&) {
  return collapse(te::inline_stages(c));
}

}  // namespace tenon::te_lowering
