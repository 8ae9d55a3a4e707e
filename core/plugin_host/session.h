// A session: the ops, and every implementation that the loaded plugins offer, by slot and id. Not a
// global; two sessions know nothing of each other.
//
// Plugins are loaded when something of their kind and id prefix is first asked for; those that
// offer ops, or do not declare their kinds, when the session opens (the op table is frozen before
// the first module is made). A plugin in a searched folder that cannot be loaded is a warning until
// what it would offer is missed; one that the user named is an error at once. Two loaded files that
// offer one id: whoever asks for that id gets an error that names both.
//
// Look-ups may load code and are for one thread; what they return stays valid, and may be used from
// any thread, until the session dies.
#ifndef TENON_CORE_PLUGIN_HOST_SESSION_H
#define TENON_CORE_PLUGIN_HOST_SESSION_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin_host/search.h"
#include "tenon/c/planner.h"
#include "tenon/plugin.h"

namespace tenon {

/// A stable-tier planner as the rest of core sees it.
struct PlannerInfo {
  std::string id;
  std::string doc;
  std::vector<OptionRow> options;
  const tn_planner* planner = nullptr;
  std::string file;     ///< absolute path of the plugin
  std::string version;  ///< of the plugin
};

/// Who provides an implementation: for provenance.json and `plugin inspect`.
struct Provenance {
  std::string id;
  std::string plugin, version;
  std::string file;    ///< absolute
  std::string sha256;  ///< of the file, hex; computed when asked for
};

class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Built-in ops and those of plugins; never changes.
  std::shared_ptr<const OpTable> ops() const;

  // By id; `tenon.` may be left out. TN1001: no plugin of that name (with the folders searched);
  // TN1012: no such implementation (with the nearest and all known ones); TN1011: offered by two
  // files. `loc` is for the message.
  Result<const PassInfo*> pass(std::string_view id, const Loc& loc = {});
  Result<const FrontendInfo*> frontend(std::string_view id, const Loc& loc = {});
  Result<const LoweringInfo*> lowering(std::string_view id, const Loc& loc = {});
  Result<const TargetInfo*> target(std::string_view id, const Loc& loc = {});
  Result<const ExecutorInfo*> executor(std::string_view id, const Loc& loc = {});
  Result<const PlannerInfo*> planner(std::string_view id, const Loc& loc = {});

  /// The frontend for a file name's ending (".onnx").
  Result<const FrontendInfo*> frontend_for(std::string_view extension);

  // All that can be loaded, sorted by id.
  std::vector<const PassInfo*> passes();
  std::vector<const FrontendInfo*> frontends();
  std::vector<const LoweringInfo*> lowerings();
  std::vector<const TargetInfo*> targets();
  std::vector<const ExecutorInfo*> executors();
  std::vector<const PlannerInfo*> planners();

  /// One of TN_KIND_...; `id` with or without `tenon.`. Loads nothing.
  Result<Provenance> provenance(std::uint32_t kind, std::string_view id) const;

  /// Files seen so far, with their status.
  const PluginIndex& index() const;
  /// Why plugins of searched folders could not be used; severity warning.
  Diags warnings() const;

 private:
  friend Result<Session> open_session(const SessionOptions& options);
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

Result<Session> open_session(const SessionOptions& options = {});

}  // namespace tenon

#endif
