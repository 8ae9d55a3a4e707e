// How far two tensors are apart, and a folder to run things in. Shared by `compare` and `compile
// --check`.
#ifndef TENON_CORE_CLI_DIFFERENCE_H
#define TENON_CORE_CLI_DIFFERENCE_H

#include <filesystem>
#include <string>

#include "tenon/eval.h"

namespace tenon::cli {

struct Difference {
  double max_abs = 0, max_rel = 0, rel_l2 = 0;
  std::uint64_t outside = 0;  // elements beyond atol + rtol * |expected|
  bool comparable = true;     // the types are equal; else the rest says nothing
};

/// `got` against `want`, element by element; NaN equals NaN.
Difference difference(const Tensor& got, const Tensor& want, double rtol, double atol);

/// A folder of its own under the system's temporary one, gone at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace tenon::cli

#endif
