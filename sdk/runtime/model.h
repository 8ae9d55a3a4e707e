// An artefact in memory: the checked program, its kernels, its constants. Immutable, shared by
// contexts.
#ifndef TENON_SDK_RUNTIME_MODEL_H
#define TENON_SDK_RUNTIME_MODEL_H

#include <memory>
#include <vector>

#include "memory.h"
#include "program.h"

namespace tenon::runtime {

using KernelFn = std::int32_t (*)(void* const* buf, const std::int64_t* dim, void* worker,
                                  std::int64_t begin, std::int64_t end);

/// A loaded shared object.
class Object {
 public:
  /// Checks that the file is whole (a truncated one would kill the process inside the loader).
  /// Throws Error.
  explicit Object(const std::string& path);
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
  std::vector<Object> objects;
  std::vector<KernelFn> kernels;
  std::vector<Region> images;        ///< one per pool; empty where there is none
  std::vector<std::uint32_t> shown;  ///< steps that people see: all but jumps
};

/// Throws Error.
std::shared_ptr<const Model> load_model(const std::string& folder);

}  // namespace tenon::runtime

#endif
