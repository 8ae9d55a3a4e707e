// What a built plugin registers, without a session, for tests of one implementation.
#ifndef TENON_TESTS_SUPPORT_REGISTRATION_H
#define TENON_TESTS_SUPPORT_REGISTRATION_H

#include <string>

#include "tenon/plugin.h"

namespace tenon::test {

/// Of build/lib/tenon/abi-N/`file`, never unloaded. Fails the test when it cannot be loaded.
Registration registration_of(const std::string& file);
/// A pass of tenon-passes.so, by its id. Fails the test when there is none.
PassInfo pass_of(const std::string& id);

}  // namespace tenon::test

#endif
