// Step 11 of loading: everything a plugin offers is checked before anything of it is taken.
#ifndef TENON_CORE_PLUGIN_HOST_VALIDATE_H
#define TENON_CORE_PLUGIN_HOST_VALIDATE_H

#include "core/plugin_host/load.h"

namespace tenon::plugin_host {

/// TN1011, all faults at once: ids (form, the plugin's prefix, twice), missing functions or docs,
/// option rows, kinds that differ from the declared ones, nothing offered. Conflicts with other
/// plugins are the session's to find.
Status validate(const Candidate& candidate, const Offer& offer);

/// The options of a planner as rows, for check_options(), --help and docs.
std::vector<OptionRow> planner_options(const tn_planner& planner);

}  // namespace tenon::plugin_host

#endif
