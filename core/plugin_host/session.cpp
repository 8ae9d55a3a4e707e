#include "core/plugin_host/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/plugin_host/file.h"
#include "core/plugin_host/validate.h"
#include "core/support/files.h"
#include "core/support/sha256.h"

namespace tenon {
namespace {

using plugin_host::Candidate;
using plugin_host::kinds_text;
using plugin_host::Offer;

template <class T>
struct Entry {
  T info;
  std::size_t row = 0;  // of the index: the file that it comes from
};
template <class T>
using Slot = std::map<std::string, Entry<T>, std::less<>>;

template <class T>
constexpr std::uint32_t kKindOf = 0;
template <>
constexpr std::uint32_t kKindOf<PassInfo> = TN_KIND_PASS;
template <>
constexpr std::uint32_t kKindOf<FrontendInfo> = TN_KIND_FRONTEND;
template <>
constexpr std::uint32_t kKindOf<LoweringInfo> = TN_KIND_LOWERING;
template <>
constexpr std::uint32_t kKindOf<TargetInfo> = TN_KIND_TARGET;
template <>
constexpr std::uint32_t kKindOf<ExecutorInfo> = TN_KIND_EXECUTOR;
template <>
constexpr std::uint32_t kKindOf<PlannerInfo> = TN_KIND_PLANNER;

std::string full_id(std::string_view id) {
  return id.find('.') == id.npos ? "tenon." + std::string(id) : std::string(id);
}
std::string_view prefix_of(std::string_view id) { return id.substr(0, id.find('.')); }

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& i : items) out += (out.empty() ? "" : ", ") + i;
  return out;
}

/// Offers of both tiers, as the slots hold them.
struct Items {
  Registration native;
  std::vector<PlannerInfo> planners;

  /// f(vector of infos) for each slot.
  template <class F>
  void each(F&& f) {
    f(native.passes);
    f(native.frontends);
    f(native.lowerings);
    f(native.targets);
    f(native.executors);
    f(planners);
  }
};

Items items_of(const Candidate& c, Offer offer) {
  Items out{std::move(offer.native), {}};
  for (const tn_planner* p : offer.planners)
    out.planners.push_back(
        {p->id, p->doc, plugin_host::planner_options(*p), p, c.path, c.descriptor.version});
  return out;
}

}  // namespace

struct Session::Impl {
  enum class State : std::uint8_t { unseen, loaded, failed };

  PluginIndex index;
  std::vector<State> states;  // by row
  std::shared_ptr<OpTable> ops = std::make_shared<OpTable>();
  std::map<std::string, std::size_t> op_rows;
  std::tuple<Slot<PassInfo>, Slot<FrontendInfo>, Slot<LoweringInfo>, Slot<TargetInfo>,
             Slot<ExecutorInfo>, Slot<PlannerInfo>>
      slots;
  std::map<std::pair<std::uint32_t, std::string>, Diag>
      conflicts;                                      // ids that two loaded files offer
  std::map<std::string, std::string> sha256_of_file;  // of those that were asked for

  template <class T>
  Slot<T>& slot() {
    return std::get<Slot<T>>(slots);
  }
  const Candidate& candidate(std::size_t row) const { return index.rows[row].candidate; }

  Diag conflict(std::uint32_t kind, const std::string& id, std::size_t first,
                std::size_t second) const {
    return plugin_host::refuse(1011, index.rows[second].file,
                               fmt::format("{} '{}' is also offered by '{}'", kinds_text(kind), id,
                                           index.rows[first].file),
                               "remove one of the two files, or rename what it offers");
  }

  /// Takes all of it, or nothing.
  Status commit(std::size_t row, Items items) {
    Diags clashes;
    items.each([&]<class T>(std::vector<T>& infos) {
      for (const T& info : infos)
        if (const auto taken = slot<T>().find(info.id); taken != slot<T>().end()) {
          clashes.push_back(conflict(kKindOf<T>, info.id, taken->second.row, row));
          conflicts.emplace(std::pair(kKindOf<T>, info.id), clashes.back());
        }
    });
    for (const OpDef& op : items.native.ops)
      if (const auto taken = op_rows.find(op.name); taken != op_rows.end())
        clashes.push_back(conflict(TN_KIND_OP, op.name, taken->second, row));
    if (!clashes.empty()) return clashes;

    OpTable grown = *ops;
    for (OpDef& op : items.native.ops) {
      const std::string name = op.name;
      if (Status s = grown.add(std::move(op)); !s) {
        const Diag& why = s.errors().front();
        return plugin_host::refuse(1011, index.rows[row].file,
                                   fmt::format("op '{}': {}", name, why.what), why.fix);
      }
      op_rows.emplace(name, row);
    }
    *ops = std::move(grown);
    items.each([&]<class T>(std::vector<T>& infos) {
      for (T& info : infos) {
        std::string id = info.id;
        slot<T>().emplace(std::move(id), Entry<T>{std::move(info), row});
      }
    });
    return {};
  }

  Status load_and_commit(std::size_t row) {
    const Candidate& c = candidate(row);
    auto offer = plugin_host::load(c);
    if (!offer) return offer.errors();
    if (Status s = plugin_host::validate(c, *offer); !s) return s;
    return commit(row, items_of(c, std::move(*offer)));
  }

  void load(std::size_t row) {
    PluginRow& r = index.rows[row];
    if (states[row] != State::unseen || r.status != PluginStatus::ok) return;
    Status s = load_and_commit(row);
    states[row] = s ? State::loaded : State::failed;
    if (!s) {
      r.status = PluginStatus::refused;
      r.why = std::move(s).take();
    }
  }

  bool may_offer(std::size_t row, std::uint32_t kind, std::string_view prefix) const {
    const Candidate& c = candidate(row);
    return (prefix.empty() || c.prefix() == prefix) &&
           (c.descriptor.kinds == 0 || (c.descriptor.kinds & kind) != 0);
  }

  /// All files that may offer this kind under this prefix (empty: any).
  void load_all(std::uint32_t kind, std::string_view prefix) {
    for (std::size_t row = 0; row < index.rows.size(); ++row)
      if (may_offer(row, kind, prefix)) load(row);
  }

  template <class T>
  Result<const T*> find(std::string_view asked, const Loc& loc) {
    const std::string id = full_id(asked);
    load_all(kKindOf<T>, prefix_of(id));
    if (const auto two = conflicts.find({kKindOf<T>, id}); two != conflicts.end()) {
      Diag d = two->second;
      d.loc = loc;
      return d;
    }
    if (const auto it = slot<T>().find(id); it != slot<T>().end()) return &it->second.info;
    return missing<T>(id, loc);
  }

  template <class T>
  Diags missing(const std::string& id, const Loc& loc) {
    Diags out;
    bool any_file = false;
    for (std::size_t row = 0; row < index.rows.size(); ++row) {
      const PluginRow& r = index.rows[row];
      if (!may_offer(row, kKindOf<T>, prefix_of(id)) || r.status == PluginStatus::shadowed)
        continue;
      any_file = true;
      for (Diag d : r.why) {
        if (d.loc.file.empty()) d.loc = loc;
        out.push_back(std::move(d));
      }
      if (!r.why.empty() && r.candidate.id() == id) return out;  // it would have been this one
    }
    if (!any_file && prefix_of(id) != "tenon") {
      out.push_back(
          {.code = 1001,
           .loc = loc,
           .what = fmt::format("{} '{}': no plugin is called '{}'", kinds_text(kKindOf<T>), id,
                               prefix_of(id)),
           .fix = "add its folder with --plugin-path, or its file under 'plugins' in the pipeline",
           .notes = {"folders searched: " + joined(index.searched)}});
      return out;
    }
    std::vector<std::string> known = ids<T>(), spellings = known;
    for (const std::string& k : known)
      if (k.starts_with("tenon.")) spellings.push_back(k.substr(6));
    const std::string near = did_you_mean(id, spellings);
    out.push_back(
        {.code = 1012,
         .loc = loc,
         .what = fmt::format("no {} is called '{}'", kinds_text(kKindOf<T>), id),
         .fix = near.empty() ? "" : fmt::format("did you mean '{}'?", near),
         .notes = {known.empty() ? fmt::format("no plugin offers a {}", kinds_text(kKindOf<T>))
                                 : fmt::format("there are: {}", joined(known))}});
    if (known.empty()) out.back().notes.push_back("folders searched: " + joined(index.searched));
    return out;
  }

  template <class T>
  std::vector<std::string> ids() {
    std::vector<std::string> out;
    for (const T* x : all<T>()) out.push_back(x->id);
    return out;
  }

  template <class T>
  std::vector<const T*> all() {
    load_all(kKindOf<T>, {});
    std::vector<const T*> out;
    for (const auto& [id, entry] : slot<T>()) out.push_back(&entry.info);
    return out;
  }

  /// The file behind an implementation that was looked up before.
  const PluginRow* row_of(std::uint32_t kind, const std::string& id) const {
    const PluginRow* out = nullptr;
    const auto look = [&]<class T>(const Slot<T>& s) {
      if (kKindOf<T> != kind) return;
      if (const auto it = s.find(id); it != s.end()) out = &index.rows[it->second.row];
    };
    std::apply([&](const auto&... s) { (look(s), ...); }, slots);
    if (const auto op = op_rows.find(id); kind == TN_KIND_OP && op != op_rows.end())
      out = &index.rows[op->second];
    return out;
  }
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

std::shared_ptr<const OpTable> Session::ops() const { return impl_->ops; }

Result<const PassInfo*> Session::pass(std::string_view id, const Loc& loc) {
  return impl_->find<PassInfo>(id, loc);
}
Result<const FrontendInfo*> Session::frontend(std::string_view id, const Loc& loc) {
  return impl_->find<FrontendInfo>(id, loc);
}
Result<const LoweringInfo*> Session::lowering(std::string_view id, const Loc& loc) {
  return impl_->find<LoweringInfo>(id, loc);
}
Result<const TargetInfo*> Session::target(std::string_view id, const Loc& loc) {
  return impl_->find<TargetInfo>(id, loc);
}
Result<const ExecutorInfo*> Session::executor(std::string_view id, const Loc& loc) {
  return impl_->find<ExecutorInfo>(id, loc);
}
Result<const PlannerInfo*> Session::planner(std::string_view id, const Loc& loc) {
  return impl_->find<PlannerInfo>(id, loc);
}

Result<const FrontendInfo*> Session::frontend_for(std::string_view extension) {
  std::vector<std::string> known;
  for (const FrontendInfo* f : frontends()) {
    if (std::ranges::find(f->extensions, extension) != f->extensions.end()) return f;
    known.insert(known.end(), f->extensions.begin(), f->extensions.end());
  }
  Diags out;
  for (const PluginRow& r : impl_->index.rows)
    if (r.candidate.descriptor.kinds & TN_KIND_FRONTEND)
      out.insert(out.end(), r.why.begin(), r.why.end());
  known.emplace_back(".tir");  // Tenon's own
  out.push_back({.code = 1012,
                 .what = fmt::format("no frontend reads files ending in '{}'", extension),
                 .fix = fmt::format("models that can be read end in {}", joined(known))});
  return out;
}

std::vector<const PassInfo*> Session::passes() { return impl_->all<PassInfo>(); }
std::vector<const FrontendInfo*> Session::frontends() { return impl_->all<FrontendInfo>(); }
std::vector<const LoweringInfo*> Session::lowerings() { return impl_->all<LoweringInfo>(); }
std::vector<const TargetInfo*> Session::targets() { return impl_->all<TargetInfo>(); }
std::vector<const ExecutorInfo*> Session::executors() { return impl_->all<ExecutorInfo>(); }
std::vector<const PlannerInfo*> Session::planners() { return impl_->all<PlannerInfo>(); }

Result<Provenance> Session::provenance(std::uint32_t kind, std::string_view asked) const {
  const std::string id = kind == TN_KIND_OP ? std::string(asked) : full_id(asked);
  const PluginRow* row = impl_->row_of(kind, id);
  if (!row)
    return Diag{.code = 1012,
                .what = fmt::format("no loaded {} is called '{}'", kinds_text(kind), id)};
  const auto [hash, fresh] = impl_->sha256_of_file.try_emplace(row->file);
  if (fresh) {  // a plugin has many passes
    auto bytes = DiskFiles().read(row->file);
    if (!bytes) {
      impl_->sha256_of_file.erase(hash);
      return bytes.errors();
    }
    hash->second = sha256_hex(sha256(*bytes));
  }
  const tn_descriptor& d = row->candidate.descriptor;
  return Provenance{id, d.id, d.version, row->file, hash->second};
}

const PluginIndex& Session::index() const { return impl_->index; }

Diags Session::warnings() const {
  Diags out;
  for (const PluginRow& r : impl_->index.rows) {
    if (r.status != PluginStatus::refused) continue;
    for (Diag d : r.why) {
      d.severity = Severity::warning;
      out.push_back(std::move(d));
    }
  }
  return out;
}

Result<Session> open_session(const SessionOptions& options) {
  auto index = index_plugins(options);
  if (!index) return index.errors();
  auto impl = std::make_unique<Session::Impl>();
  impl->index = std::move(*index);
  impl->states.resize(impl->index.rows.size(), Session::Impl::State::unseen);
  if (Status s = add_builtin_ops(*impl->ops); !s) return s.errors();
  // The op table freezes here, so whatever may offer ops has to be loaded now.
  Diags errors;
  for (std::size_t row = 0; row < impl->index.rows.size(); ++row) {
    if (!impl->may_offer(row, TN_KIND_OP, {})) continue;
    impl->load(row);
    const PluginRow& r = impl->index.rows[row];
    if (r.named && r.status == PluginStatus::refused)
      errors.insert(errors.end(), r.why.begin(), r.why.end());
  }
  if (!errors.empty()) return errors;
  return Session(std::move(impl));
}

}  // namespace tenon
