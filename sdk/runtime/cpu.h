// CPU features by the names that artefacts use (LLVM's).
#ifndef TENON_SDK_RUNTIME_CPU_H
#define TENON_SDK_RUNTIME_CPU_H

#include <string>
#include <vector>

namespace tenon::runtime {

/// Those of `needed` that this CPU and its operating system do not have, or that the runtime does
/// not know.
std::vector<std::string> missing_features(const std::vector<std::string>& needed);

}  // namespace tenon::runtime

#endif
