// The first sub-slot: the composed description -> the one that is scheduled.
#include "lowering.h"

namespace tenon::te_lowering {

Result<te::Compute> compute(const te::Compute& c, const TargetFacts& facts,
                            const OptionValues& values) {
  const Options options = read_options<Options>(values);
  const te::Compute joined = collapse(split_axes(te::inline_stages(c)));
  return options.naive ? joined
                       : pack_operands(peel_padding(joined, facts, options), facts, options);
}

}  // namespace tenon::te_lowering
