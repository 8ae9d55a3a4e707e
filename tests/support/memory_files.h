// Files in memory: tests of loaders run on this, not on the disk. Remembers what was read.
#ifndef TENON_TESTS_SUPPORT_MEMORY_FILES_H
#define TENON_TESTS_SUPPORT_MEMORY_FILES_H

#include <map>
#include <set>

#include "core/support/files.h"

namespace tenon {

class MemoryFiles final : public Files {
 public:
  MemoryFiles() = default;
  MemoryFiles(std::initializer_list<std::pair<const std::string, std::string>> files) : at(files) {}

  std::map<std::string, std::string> at;
  mutable std::set<std::string> read_paths;

  Result<std::string> read(const std::string& path) const override {
    read_paths.insert(path);
    if (auto it = at.find(path); it != at.end()) return it->second;
    return Diag{.code = 2001, .loc = {path}, .what = "cannot read '" + path + "': no such file"};
  }
  Status write(const std::string& path, std::string_view bytes) override {
    at[path] = std::string(bytes);
    return {};
  }
  std::vector<std::string> list(const std::string& dir) const override {
    std::vector<std::string> names;
    for (const auto& [path, _] : at)
      if (folder_of(path) == dir) names.push_back(path.substr(dir.size() + 1));
    return names;
  }
  bool exists(const std::string& path) const override { return at.contains(path); }
};

}  // namespace tenon

#endif
