// Steps 7 to 10 of loading: dlopen, state of the process, the descriptor once more, and the entry,
// which only describes.
#ifndef TENON_CORE_PLUGIN_HOST_LOAD_H
#define TENON_CORE_PLUGIN_HOST_LOAD_H

#include <vector>

#include "core/plugin_host/descriptor.h"
#include "tenon/c/planner.h"
#include "tenon/plugin.h"

namespace tenon::plugin_host {

/// What one file offers, as it says; validated by validate.h.
struct Offer {
  Registration native;
  std::vector<const tn_planner*> planners;
};

/// Loads a file that inspect() accepted. It stays loaded until the process ends, also when a later
/// step refuses it: code, objects and exceptions of it may be anywhere. TN1007 dlopen, TN1008
/// changed the process, TN1009 another descriptor in memory, TN1010 the entry threw.
Result<Offer> load(const Candidate& candidate);

}  // namespace tenon::plugin_host

#endif
