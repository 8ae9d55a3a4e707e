// Programs through the executor tenon.aot and a C compiler of this machine.
#ifndef TENON_TESTS_SUPPORT_AOT_MODEL_H
#define TENON_TESTS_SUPPORT_AOT_MODEL_H

#include <memory>
#include <string>
#include <vector>

#include "tenon/executor.h"
#include "tests/support/c_target.h"

namespace tenon::test {

/// tenon.aot as its plugin registers it.
const ExecutorInfo& aot_executor();
/// model.c and model.h; fails the test when the executor refuses. `kernels`: C text, as of
/// c_text().
ArtefactFiles aot_files(const ExecProgram& p, const std::string& kernels,
                        const std::string& name = "");

/// A model that was compiled, with all warnings as errors, and loaded.
class AotModel {
 public:
  AotModel(const ArtefactFiles& files, const std::string& name, const std::string& flags = "-O1",
           const std::string& compiler = "gcc");
  /// tenon_<name>_run: the structs are tables of pointers.
  std::int32_t run(const std::vector<const void*>& in, const std::vector<void*>& out) const;

 private:
  std::shared_ptr<void> object_;
  std::int32_t (*run_)(const void* const*, void* const*) = nullptr;
};

}  // namespace tenon::test

#endif
