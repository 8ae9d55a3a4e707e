#include "core/plugin_host/load.h"

#include <fmt/format.h>

#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>

#include "core/plugin_host/file.h"
#include "core/plugin_host/process_state.h"
#include "core/plugin_host/search.h"

namespace tenon::plugin_host {
namespace {

constexpr std::uint32_t kMaxPlanners = 1024;  // of one file

/// Never destroyed, so no destructor of Boost.DLL ever unloads a plugin.
boost::dll::shared_library& keep(boost::dll::shared_library library) {
  static std::mutex mutex;
  static auto* all = new std::vector<std::unique_ptr<boost::dll::shared_library>>;
  const std::lock_guard lock(mutex);
  return *all->emplace_back(std::make_unique<boost::dll::shared_library>(std::move(library)));
}

/// The loader's own words. Boost's text wraps them: "boost::dll::... failed (dlerror system
/// message: <words>): Bad file descriptor", the last part of which is false.
std::string loader_words(std::string text) {
  if (const auto at = text.find("dlerror system message: "); at != text.npos)
    text.erase(0, at + 24);
  if (const auto end = text.rfind("): "); end != text.npos) text.resize(end);
  return text;
}

Diag not_loadable(const Candidate& c, std::string words) {
  const std::string path = c.path + ": ";
  if (words.starts_with(path)) words.erase(0, path.size());
  std::string fix = "rebuild it against this tenon; -Wl,-z,defs shows missing symbols at link time";
  if (words.find("cannot open shared object file") != words.npos)
    fix = "install the library it needs, or add its folder to the plugin's RUNPATH";
  return refuse(1007, c.path, fmt::format("the loader refuses plugin '{}': {}", c.id(), words),
                fix);
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& i : items) out += (out.empty() ? "" : ", ") + i;
  return out;
}

/// Runs a plugin's function; what it throws becomes text at once, while the exception is alive.
template <class F>
std::optional<std::string> guarded(F&& f) {
  try {
    f();
    return {};
  } catch (const std::exception& e) {
    return fmt::format("an exception: {}", e.what());
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

Result<Offer> ask(const Candidate& c, boost::dll::shared_library& library) {
  Offer offer;
  const auto failed = guarded([&] {
    if (c.descriptor.tier == TN_TIER_NATIVE) {
      library.get<void(Registration*)>("tenon_plugin_entry")(&offer.native);
    } else if (library.has("tenon_planner_at")) {
      auto& at = library.get<const tn_planner*(std::uint32_t)>("tenon_planner_at");
      for (std::uint32_t i = 0; i < kMaxPlanners; ++i)
        if (const tn_planner* p = at(i))
          offer.planners.push_back(p);
        else
          break;
    }
  });
  if (failed)
    return refuse(1010, c.path,
                  fmt::format("plugin '{}' failed while describing itself: {}", c.id(), *failed),
                  "report this to the plugin's author; its entry must only describe");
  return offer;
}

}  // namespace

Result<Offer> load(const Candidate& c) {
  boost::dll::shared_library* library = nullptr;
  const ProcessState before;
  // The throwing form: the error_code form loses the reason. A constructor of the plugin may throw,
  // too.
  const auto failed = guarded([&] {
    namespace mode = boost::dll::load_mode;
    try {
      library = &keep(boost::dll::shared_library(c.path, mode::rtld_now | mode::rtld_local));
    } catch (const std::exception& e) {
      throw std::runtime_error(loader_words(e.what()));
    }
  });
  const auto changed = before.restore();
  if (failed) {
    constexpr std::string_view prefix = "an exception: ";
    return not_loadable(c, failed->starts_with(prefix) ? failed->substr(prefix.size()) : *failed);
  }
  if (!changed.empty())
    return refuse(1008, c.path,
                  fmt::format("plugin '{}' changed the process while it was loaded: {}", c.id(),
                              joined(changed)),
                  "it was undone and the plugin is not used; link without -ffast-math and set "
                  "nothing in constructors");
  const std::size_t size = std::min<std::size_t>(c.descriptor.struct_size, sizeof(tn_descriptor));
  if (!library->has("tenon_plugin") ||
      std::memcmp(&library->get<const tn_descriptor>("tenon_plugin"), &c.descriptor, size) != 0)
    return refuse(
        1009, c.path,
        fmt::format("plugin '{}' has another descriptor in memory than in its file", c.id()),
        "the file changed while it was in use: start again");
  const ProcessState before_entry;
  auto offer = ask(c, *library);
  if (const auto later = before_entry.restore(); offer && !later.empty())
    return refuse(1008, c.path,
                  fmt::format("plugin '{}' changed the process while describing itself: {}", c.id(),
                              joined(later)),
                  "it was undone and the plugin is not used; an entry only describes");
  return offer;
}

}  // namespace tenon::plugin_host

namespace tenon {

std::string library_folder() {
  const boost::dll::fs::path here =
      boost::dll::this_line_location();  // may be relative to the working directory
  std::error_code ec;
  return std::filesystem::canonical(here.string(), ec).parent_path().string();
}

}  // namespace tenon
