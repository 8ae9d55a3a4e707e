// Several files and `--set` become one tree: defaults < board < extended files < file < --set.
#ifndef TENON_CORE_PIPELINE_LAYERS_H
#define TENON_CORE_PIPELINE_LAYERS_H

#include <map>
#include <string>
#include <vector>

#include "core/pipeline/config.h"
#include "core/pipeline/yaml_tree.h"

namespace tenon {

struct Layers {
  YamlPtr tree;                    ///< a map
  std::string path, board;         ///< of the files
  std::vector<std::string> files;  ///< all that were read
  bool is_board = false;
  std::map<std::string, std::string> notes;  ///< by file: why it was read, for messages about it
};

/// All files are read, their top-level keys are known, `tenon: 1` stands in each.
Result<Layers> load_layers(const Files& files, const LoadRequest& request);

/// `over` laid on `base`: maps merge down to `depth` levels, everything else is replaced. New keys
/// go to the end.
YamlPtr merge(const YamlPtr& base, const YamlPtr& over, int depth = 3);

/// The tree with one KEY=VALUE of the command line in it. TN2130, TN2131.
Result<YamlPtr> apply_set(const YamlPtr& tree, const std::string& assignment);

/// The ids of the steps of a `steps` list: `id:`, else the name without `tenon.`, else with `.2`,
/// `.3`... for repeated names. Items that are no step have "".
std::vector<std::string> step_ids(const YamlNode& steps);

}  // namespace tenon

#endif
