// Executors: encode an ExecProgram into the files of an artefact. They compute nothing.
#ifndef TENON_EXECUTOR_H
#define TENON_EXECUTOR_H

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/options.h"
#include "tenon/program.h"

namespace tenon {

/// What a file is to hold: parts, one behind the other. They are shared, not copied: constants are
/// most of an artefact.
class FileBytes {
 public:
  struct Part {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;  ///< keeps them; null where they last anyway
  };
  FileBytes() = default;
  FileBytes(std::vector<std::byte> bytes) {
    const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    add({*owner, owner});
  }
  explicit FileBytes(std::string text) {
    const auto owner = std::make_shared<const std::string>(std::move(text));
    add({std::as_bytes(std::span(*owner)), owner});
  }
  void add(Part p) {
    size_ += p.bytes.size();
    if (!p.bytes.empty()) parts_.push_back(std::move(p));
  }
  /// Zeros up to `size`, when it is shorter.
  void extend(std::uint64_t size) {
    static constexpr std::byte zeros[4096] = {};
    while (size_ < size) add({std::span(zeros).first(std::min(size - size_, sizeof zeros)), {}});
  }
  std::uint64_t size() const { return size_; }
  const std::vector<Part>& parts() const { return parts_; }
  /// A copy in one piece.
  std::vector<std::byte> joined() const {
    std::vector<std::byte> out;
    out.reserve(size_);
    for (const Part& p : parts_) out.insert(out.end(), p.bytes.begin(), p.bytes.end());
    return out;
  }

  bool operator==(const FileBytes& other) const {
    return size_ == other.size_ && joined() == other.joined();
  }

 private:
  std::vector<Part> parts_;
  std::uint64_t size_ = 0;
};

/// Files of the artefact by relative path. The host writes them all, or none.
using ArtefactFiles = std::map<std::string, FileBytes>;

/// The constants of a pool, each at its planned offset and 0 between: all of a pool of constants,
/// else up to the end of the last one (empty when there is none). TN9062: a constant passes the end
/// of its pool, or begins before the end of another.
Result<FileBytes> constants_image(const ExecProgram& p, std::uint32_t pool);

struct ExecutorInfo {
  std::string id;  ///< tenon.graph
  std::string doc;
  std::vector<OptionRow> options;
  /// `objects`: what the targets made, by file name (they are already in the artefact).
  Status (*emit)(const ExecProgram&, const Module&, const OptionValues&,
                 const std::vector<std::string>& objects, ArtefactFiles& out) = nullptr;
};

}  // namespace tenon

#endif
