// Steps 2 to 6 of loading: everything that can be known of a plugin without running one instruction
// of it.
#ifndef TENON_CORE_PLUGIN_HOST_DESCRIPTOR_H
#define TENON_CORE_PLUGIN_HOST_DESCRIPTOR_H

#include <string>
#include <string_view>
#include <vector>

#include "tenon/c/descriptor.h"
#include "tenon/diag.h"

namespace tenon::plugin_host {

struct Candidate {
  std::string path;  ///< absolute, links resolved
  tn_descriptor descriptor{};

  std::string_view id() const { return descriptor.id; }
  /// "acme" of "acme.first-fit": begins every id that the plugin offers.
  std::string_view prefix() const { return id().substr(0, id().find('.')); }
};

/// The descriptor of a file, whatever it says. TN1002 file, TN1003 ELF, TN1004 no or malformed
/// descriptor.
Result<Candidate> read_descriptor(const std::string& path);
/// read_descriptor, then TN1005 ABI or fingerprint, TN1006 libraries and symbols.
Result<Candidate> inspect(const std::string& path);

/// How this libtenon was built; what a native plugin must match.
const tn_fingerprint& host_fingerprint();

std::string_view tier_name(std::uint32_t tier);
/// "pass, op"; "not declared" for 0.
std::string kinds_text(std::uint32_t kinds);

}  // namespace tenon::plugin_host

#endif
