// Where plugins are looked for, and what stands there. Reads descriptors only; loads nothing.
//
// Order: --plugin-path, `path` of the pipeline file, the project's .tenon/plugins,
// TENON_PLUGIN_PATH, $XDG_DATA_HOME/tenon/{abi-N,stable}, <prefix>/lib/tenon/{abi-N,stable}. A file
// is found by its *name*: the first of a name wins, later ones are shown as shadowed. The working
// directory is never searched.
#ifndef TENON_CORE_PLUGIN_HOST_SEARCH_H
#define TENON_CORE_PLUGIN_HOST_SEARCH_H

#include <string>
#include <vector>

#include "core/plugin_host/descriptor.h"
#include "tenon/diag.h"

namespace tenon {

/// A plugin that the pipeline file names: `plugins: {acme: {path: ./acme.so}}`.
struct NamedPlugin {
  std::string id;    ///< "acme"; empty: whatever the file says
  std::string path;  ///< absolute, or relative to the file of `loc`
  Loc loc;           ///< of the path, for messages
};

struct SessionOptions {
  std::vector<std::string> plugin_paths;  ///< --plugin-path: folders or files; must exist
  std::vector<NamedPlugin> named;         ///< must be good
  std::string project_dir;                ///< folder whose .tenon/plugins is searched; empty: none
  std::string env_path;                   ///< value of TENON_PLUGIN_PATH: folders with ':' between
  std::string user_data_dir;              ///< XDG_DATA_HOME; empty: none
  std::string
      lib_dir;  ///< folder of libtenon's plugins' parent; empty: where libtenon itself stands
  bool shipped = true;  ///< search lib_dir
};

/// env_path and user_data_dir from the process's environment, unless it runs setuid. For the door
/// (CLI) only.
void read_environment(SessionOptions& options);

/// The folder that libtenon was loaded from.
std::string library_folder();

enum class PluginStatus : std::uint8_t { ok, refused, shadowed };

/// One plugin file, for `tenon plugin list` and `inspect`.
struct PluginRow {
  std::string file;  ///< absolute
  std::string name;  ///< file name without .so: what shadows by
  std::string
      origin;  ///< "--plugin-path", "pipeline", "project", "TENON_PLUGIN_PATH", "user", "shipped"
  bool named = false;  ///< the user named this very file: it must be good
  PluginStatus status = PluginStatus::ok;
  std::string shadowed_by;           ///< file
  plugin_host::Candidate candidate;  ///< with status refused: as far as it could be read
  Diags why;                         ///< status refused
};

struct PluginIndex {
  std::vector<PluginRow> rows;        ///< in search order; within a folder by file name
  std::vector<std::string> searched;  ///< folders, in order; also those that do not exist
};

/// Fails only for what the user named himself: a --plugin-path that does not exist (TN1001), a
/// named plugin that is refused or that calls itself otherwise.
Result<PluginIndex> index_plugins(const SessionOptions& options);

/// One file, looked at the same way.
PluginRow inspect_plugin(const std::string& path);

}  // namespace tenon

#endif
