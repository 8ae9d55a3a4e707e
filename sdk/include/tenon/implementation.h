// A plugin with a heavy library is two objects: a thin one (descriptor, options), and an
// implementation in a folder beside it that is loaded at first use, so that listing and validating
// stay instant.
#ifndef TENON_IMPLEMENTATION_H
#define TENON_IMPLEMENTATION_H

#include <string_view>

#include "tenon/diag.h"

namespace tenon {

/// The address of `symbol` in `file`, a path relative to the folder of the shared object that
/// contains `anchor`. Loaded once, never unloaded. TN1013 when it cannot be loaded, with the
/// loader's reason and `fix`.
Result<void*> load_implementation(const void* anchor, std::string_view file,
                                  std::string_view symbol, std::string_view fix);

/// Tells one build of the two objects from another without loading the second: sizes and times of
/// both files. For TargetInfo::identity.
std::string implementation_identity(const void* anchor, std::string_view file);

}  // namespace tenon

#endif
