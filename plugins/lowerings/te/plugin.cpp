#include "tenon/plugin.h"

#include "lowering.h"

namespace {

tenon::LoweringInfo te_lowering_info() {
  namespace te = tenon::te_lowering;
  return {.id = "tenon.te",
          .doc = "Schedules tensor expressions into vector kernels, from their index maps alone",
          .options = tenon::option_rows<te::Options>(),
          .compute = te::compute,
          .schedule = te::schedule,
          .kernel = te::kernel};
}

void describe(tenon::Registration& r) { r.add(te_lowering_info()); }

}  // namespace

TENON_PLUGIN("tenon.te", "0.1.0", "Lowering of tensor expressions to vector kernels", describe,
             TN_KIND_LOWERING);
