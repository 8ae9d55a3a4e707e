#include "core/plugin_host/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>

#include "core/plugin_host/file.h"

namespace tenon {
namespace fs = std::filesystem;
namespace {

PluginRow look(const std::string& path, std::string_view origin) {
  std::error_code ec;
  const fs::path real = fs::canonical(path, ec);
  PluginRow row{.file = ec ? path : real.string(),
                .name = fs::path(path).stem().string(),
                .origin = std::string(origin)};
  auto good = plugin_host::inspect(path);
  if (good) {
    row.candidate = std::move(*good);
    return row;
  }
  row.status = PluginStatus::refused;
  row.why = good.errors();
  if (auto read = plugin_host::read_descriptor(path)) row.candidate = std::move(*read);
  return row;
}

class Indexer {
 public:
  explicit Indexer(const SessionOptions& o) : o_(o) {}

  Result<PluginIndex> run() {
    for (const std::string& p : o_.plugin_paths) given(p);
    for (const NamedPlugin& n : o_.named) named(n);
    if (!o_.project_dir.empty()) folder(fs::path(o_.project_dir) / ".tenon/plugins", "project");
    for (const std::string& dir : split(o_.env_path)) folder(dir, "TENON_PLUGIN_PATH");
    if (!o_.user_data_dir.empty()) both_tiers(o_.user_data_dir, "user");
    if (o_.shipped) both_tiers(o_.lib_dir.empty() ? library_folder() : o_.lib_dir, "shipped");
    if (!errors_.empty()) return errors_;
    return std::move(index_);
  }

 private:
  static std::vector<std::string> split(const std::string& path) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < path.size();) {
      const auto end = std::min(path.find(':', at), path.size());
      // Relative entries would search the working directory.
      if (end > at && path[at] == '/') out.push_back(path.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }

  void given(const std::string& path) {
    std::error_code ec;
    if (fs::is_directory(path, ec))
      folder(fs::absolute(path, ec), "--plugin-path");
    else if (fs::exists(path, ec))
      add_named(look(path, "--plugin-path"));
    else
      errors_.push_back(
          Diag{.code = 1001,
               .what = fmt::format("plugin path '{}': no such file or folder (tried '{}')", path,
                                   fs::absolute(path, ec).string()),
               .fix = "name a plugin's .so or a folder of them"});
  }

  void named(const NamedPlugin& n) {
    fs::path path = n.path;
    if (path.is_relative()) path = fs::path(n.loc.file.str()).parent_path() / path;
    std::error_code ec;
    if (!fs::exists(path, ec)) {
      errors_.push_back(
          Diag{.code = 1001,
               .loc = n.loc,
               .what = fmt::format("{}no file '{}' (tried '{}')",
                                   n.id.empty() ? "" : fmt::format("plugin '{}': ", n.id), n.path,
                                   fs::absolute(path, ec).string()),
               .fix = n.loc.file.empty() ? "check the path"
                                         : "relative paths start at the file that names them"});
      return;
    }
    PluginRow row = look(path.string(), "pipeline");
    if (row.status == PluginStatus::ok && !n.id.empty() && n.id != row.candidate.prefix() &&
        n.id != row.candidate.id())
      errors_.push_back(Diag{
          .code = 1001,
          .loc = n.loc,
          .what = fmt::format("plugin '{}': the file '{}' calls itself '{}'", n.id, row.file,
                              row.candidate.id()),
          .fix = fmt::format("write '{}' as the key under 'plugins'", row.candidate.prefix())});
    for (Diag& d : row.why) d.loc = n.loc;
    add_named(std::move(row));
  }

  void both_tiers(const fs::path& lib, std::string_view origin) {
    folder(lib / "tenon" / fmt::format("abi-{}", TN_ABI_MAJOR), origin);
    folder(lib / "tenon" / "stable", origin);
  }

  void folder(const fs::path& dir, std::string_view origin) {
    index_.searched.push_back(dir.string());
    std::error_code ec;
    std::vector<fs::path> files;
    for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec))
      if (it->path().extension() == ".so") files.push_back(it->path());
    if (files.empty()) return;
    const Status safe = plugin_host::check_folder(dir.string());
    std::ranges::sort(files);
    for (const fs::path& f : files) {
      if (safe) {
        add(look(f.string(), origin));
        continue;
      }
      PluginRow row{.file = f.string(), .name = f.stem().string(), .origin = std::string(origin)};
      row.status = PluginStatus::refused;
      row.why = safe.errors();
      add(std::move(row));
    }
  }

  void add_named(PluginRow row) {
    row.named = true;
    errors_.insert(errors_.end(), row.why.begin(), row.why.end());
    add(std::move(row));
  }
  void add(PluginRow row) {
    const auto [first, fresh] = by_name_.emplace(row.name, row.file);
    if (!fresh) {
      row.status = PluginStatus::shadowed;
      row.shadowed_by = first->second;
    }
    index_.rows.push_back(std::move(row));
  }

  const SessionOptions& o_;
  PluginIndex index_;
  std::map<std::string, std::string> by_name_;
  Diags errors_;
};

}  // namespace

void read_environment(SessionOptions& options) {
  // secure_getenv answers null in a setuid process: nobody may slip code into it.
  const auto get = [](const char* name) {
    const char* v = ::secure_getenv(name);
    return std::string(v ? v : "");
  };
  options.env_path = get("TENON_PLUGIN_PATH");
  options.user_data_dir = get("XDG_DATA_HOME");
  if (const std::string home = get("HOME"); options.user_data_dir.empty() && !home.empty())
    options.user_data_dir = home + "/.local/share";
}

Result<PluginIndex> index_plugins(const SessionOptions& options) { return Indexer(options).run(); }

PluginRow inspect_plugin(const std::string& path) { return look(path, "named"); }

}  // namespace tenon
