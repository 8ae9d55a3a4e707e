// Artefacts made by hand: an ExecProgram and kernels, compiled by tenon.llvm and encoded by
// tenon.graph, as the compiler does it, in a folder that goes with the object.
#ifndef TENON_TESTS_SUPPORT_ARTEFACT_H
#define TENON_TESTS_SUPPORT_ARTEFACT_H

#include <filesystem>
#include <string>
#include <vector>

#include "tenon/executor.h"
#include "tests/support/kernel_maker.h"

namespace tenon::test {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// tenon.graph, as its plugin registers it.
const ExecutorInfo& graph_executor();
/// Files of the artefact; fails the test when the executor refuses.
ArtefactFiles emit_files(const ExecProgram& p,
                         const std::vector<std::string>& objects = {"kernels.so"});
void write_file(const std::filesystem::path& path, const void* data, std::size_t bytes);
std::string read_text(const std::filesystem::path& path);
/// Writes `checksums` for what stands in `folder` now: damage that only the runtime's own checks
/// can find.
void seal(const std::filesystem::path& folder);
/// Everything into `folder`.
void write_artefact(const std::filesystem::path& folder, const ExecProgram& p,
                    const std::vector<tir::Kernel>& kernels);

/// ExecKernel of a kernel.
ExecKernel exec_kernel(const tir::Kernel& k);

}  // namespace tenon::test

#endif
