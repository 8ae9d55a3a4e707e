// YAML text as a tree whose every node knows its place. A strict part of YAML 1.2:
//  - keys are scalars and stand once in their map (both places are named when not);
//  - anchors and aliases work inside one file; `<<`, tags, variables (`${...}`) and a second
//    document are refused;
//  - scalars keep their text: nothing is guessed to be a number, and quoted text is known to be
//    quoted;
//  - limits: 1 MiB of text, depth 64, 100 000 nodes, of which aliases add at most 10 000.
// Any bytes give a tree or named errors.
#ifndef TENON_CORE_PIPELINE_YAML_TREE_H
#define TENON_CORE_PIPELINE_YAML_TREE_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/diag.h"

namespace tenon {

struct YamlNode;
using YamlPtr = std::shared_ptr<const YamlNode>;

struct YamlEntry {
  std::string key;
  Loc key_loc;
  YamlPtr value;  ///< never null
};

struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, list, map } kind = Kind::null;
  std::string text;                ///< of a scalar, unquoted and unescaped
  bool quoted = false;             ///< in quotes or a block (`|`, `>`)
  std::vector<YamlPtr> items;      ///< of a list
  std::vector<YamlEntry> entries;  ///< of a map, in the order written
  Loc loc;  ///< columns in code points; an alias stands where `*name` stands, what is in it where
            ///< it was written
  std::size_t size = 1;    ///< nodes in this subtree, aliases expanded
  std::size_t height = 1;  ///< levels in this subtree

  const YamlEntry* find(std::string_view key) const;
};

/// "a map", "a list", "'text'", "nothing": for messages.
std::string describe(const YamlNode& n);

/// TN2010..TN2013. The root of an empty document is a null node.
Result<YamlPtr> parse_yaml(std::string_view text, const std::string& file);

}  // namespace tenon

#endif
