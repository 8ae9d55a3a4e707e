// Kernels through the plugin tenon.c and a C compiler of this machine.
#ifndef TENON_TESTS_SUPPORT_C_TARGET_H
#define TENON_TESTS_SUPPORT_C_TARGET_H

#include <memory>
#include <string>
#include <vector>

#include "tenon/target.h"
#include "tests/support/native_target.h"

namespace tenon::test {

/// tenon.c as its plugin registers it.
const TargetInfo& c_target();
/// Its facts; fails the test when there are none.
TargetFacts c_facts(const std::string& cpu = "generic");
/// The text, or what the target says.
Result<std::string> c_text(const std::vector<tir::Kernel>& kernels,
                           const TargetFacts& facts = c_facts());

/// Compiles C files to a shared object with all warnings as errors, and loads it. Fails the test
/// with what the compiler says.
std::shared_ptr<void> load_c(const std::string& compiler, const std::vector<std::string>& files,
                             const std::string& flags = "-O1");
/// The options that generated C must pass.
inline constexpr const char* strict = "-std=c11 -Wall -Wextra -Werror -Wconversion";
/// gcc, and clang where there is one.
std::vector<std::string> c_compilers();

}  // namespace tenon::test

#endif
