// An artefact in memory: the checked program, its kernels, its constants. Immutable, shared by
// contexts.
#ifndef TENON_SDK_RUNTIME_MODEL_H
#define TENON_SDK_RUNTIME_MODEL_H

#include <memory>
#include <vector>

#include "checksums.h"
#include "memory.h"
#include "program.h"

namespace tenon::runtime {

using KernelFn = std::int32_t (*)(void* const* buf, const std::int64_t* dim, void* worker,
                                  std::int64_t begin, std::int64_t end);

/// A loaded shared object.
class Object {
 public:
  /// Checks first that the file is whole (a truncated one would kill the process inside the loader)
  /// and the one that was compiled. Throws Error.
  Object(const std::string& folder, const std::string& name, const Checksums& sums);
  Object(Object&& o) noexcept;
  Object& operator=(Object&&) = delete;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object();
  KernelFn find(const std::string& symbol) const;

 private:
  void* handle_ = nullptr;
};

struct Model {
  Program program;
  Checksums checksums;
  std::vector<Object> objects;
  std::vector<KernelFn> kernels;
  std::vector<Region> images;        ///< one per pool; empty where there is none
  std::vector<std::uint32_t> shown;  ///< steps that people see: all but jumps and turns
};

/// Throws Error.
std::shared_ptr<const Model> load_model(const std::string& folder);
/// The constants against their checksums. Throws Error (TN_RT_DAMAGED).
void verify_images(const Model& m);

}  // namespace tenon::runtime

#endif
