// Executors: encode an ExecProgram into the files of an artefact. They compute nothing.
#ifndef TENON_EXECUTOR_H
#define TENON_EXECUTOR_H

#include <map>
#include <string>
#include <vector>

#include "tenon/options.h"
#include "tenon/program.h"

namespace tenon {

/// Files of the artefact by relative path. The host writes them all, or none.
using ArtefactFiles = std::map<std::string, std::vector<std::byte>>;

/// The constants of a pool, each at its planned offset and 0 between: all of a pool of constants,
/// else up to the end of the last one (empty when there is none). TN9062: a constant passes the end
/// of its pool.
Result<std::vector<std::byte>> constants_image(const ExecProgram& p, std::uint32_t pool);

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
