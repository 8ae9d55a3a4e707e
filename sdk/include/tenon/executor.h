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
