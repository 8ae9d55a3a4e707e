// Sessions: search order, shadowing, look-ups, laziness, provenance.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <filesystem>

#include "core/plugin_host/session.h"
#include "core/support/sha256.h"
#include "tenon/ir.h"

namespace tenon {
namespace {
namespace fs = std::filesystem;

const std::string kBuilt = TENON_BUILD_DIR "/tests/plugin_faults/";

bool in_memory(const std::string& file) {
  void* handle = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle) ::dlclose(handle);
  return handle != nullptr;
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("tenon-session-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string add(const char* built, const std::string& as) const {
    fs::create_directories((path / as).parent_path());
    fs::copy_file(kBuilt + built, path / as, fs::copy_options::overwrite_existing);
    return (path / as).string();
  }
};

TEST_CASE("session: a planner, its options, who provides it") {
  SessionOptions o{.plugin_paths = {kBuilt + "planner.so"}, .shipped = false};
  auto s = open_session(o);
  REQUIRE(s);
  CHECK(s->planners().size() == 2);
  auto p = s->planner("acme.one");
  REQUIRE(p);
  CHECK((*p)->doc == "First of two.");
  CHECK((*p)->version == "2.0.0");
  REQUIRE((*p)->options.size() == 1);
  CHECK((*p)->options[0].key == "tries");
  CHECK((*p)->options[0].range.max == 64);
  auto from = s->provenance(TN_KIND_PLANNER, "acme.one");
  REQUIRE(from);
  CHECK(from->plugin == "acme");
  CHECK(from->sha256.size() == 64);
  CHECK(fs::equivalent(from->file, kBuilt + "planner.so"));
}

TEST_CASE("session: what is missing is named, with what there is") {
  auto s = open_session({.plugin_paths = {kBuilt + "planner.so"}, .shipped = false});
  REQUIRE(s);
  const Loc loc{"p.yaml", 3, 4, 9};
  auto near = s->planner("acme.onne", loc);
  REQUIRE(!near);
  CHECK(near.errors()[0].code == 1012);
  CHECK(near.errors()[0].fix.find("acme.one") != std::string::npos);
  CHECK(near.errors()[0].notes[0].find("acme.one, acme.two") != std::string::npos);
  CHECK(near.errors()[0].loc == loc);
  auto none = s->pass("other.fuse");
  REQUIRE(!none);
  CHECK(none.errors()[0].code == 1001);
  CHECK(none.errors()[0].what.find("no plugin is called 'other'") != std::string::npos);
  auto bare = s->executor("graph");
  REQUIRE(!bare);
  CHECK(bare.errors()[0].what.find("'tenon.graph'") != std::string::npos);
}

TEST_CASE(
    "session: a file is loaded when something of its kind and prefix is asked for, not before") {
  const Folder dir;
  const std::string file = fs::canonical(dir.add("good.so", "lazy.so")).string();
  auto s = open_session({.plugin_paths = {file}, .shipped = false});
  REQUIRE(s);
  REQUIRE(s->index().rows.size() == 1);
  CHECK(!s->planner("acme.x"));
  CHECK(!s->pass("other.nothing"));
  CHECK(!in_memory(file));
  CHECK(s->pass("acme.nothing"));
  CHECK(in_memory(file));
}

TEST_CASE("session: loading again gives a second session the same things") {
  for (int i = 0; i < 3; ++i) {
    auto s = open_session(
        {.plugin_paths = {kBuilt + "good.so", kBuilt + "undeclared.so"}, .shipped = false});
    REQUIRE(s);
    CHECK(s->pass("acme.nothing"));
    CHECK(s->ops()->find("ops.same"));
    CHECK(s->provenance(TN_KIND_OP, "ops.same"));
  }
}

TEST_CASE("session: the first file of a name wins, later ones are shown as shadowed") {
  const Folder dir;
  const std::string first = dir.add("good.so", "cli/acme.so");
  dir.add("planner.so", "project/.tenon/plugins/acme.so");
  dir.add("planner.so", "env/other.so");
  dir.add("planner.so", "home/tenon/stable/third.so");
  dir.add("good.so", "prefix/tenon/abi-0/acme.so");
  const std::string base = dir.path.string();
  auto index = index_plugins({.plugin_paths = {base + "/cli"},
                              .project_dir = base + "/project",
                              .env_path = "relative:" + base + "/env",
                              .user_data_dir = base + "/home",
                              .lib_dir = base + "/prefix"});
  REQUIRE(index);
  std::vector<std::string> seen;
  for (const PluginRow& r : index->rows)
    seen.push_back(r.origin + " " + r.name +
                   (r.status == PluginStatus::shadowed ? " shadowed" : ""));
  CHECK(seen == std::vector<std::string>{"--plugin-path acme", "project acme shadowed",
                                         "TENON_PLUGIN_PATH other", "user third",
                                         "shipped acme shadowed"});
  CHECK(fs::equivalent(index->rows[1].shadowed_by, first));
}

TEST_CASE("session: a plugin that the pipeline names") {
  const Folder dir;
  dir.add("planner.so", "acme.so");
  const Loc loc{(dir.path / "kws.yaml").string(), 2, 10, 20};
  const auto open = [&](std::string id, std::string path) {
    return open_session({.named = {{std::move(id), std::move(path), loc}}, .shipped = false});
  };
  CHECK(open("acme", "./acme.so"));
  auto other = open("acne", "./acme.so");
  REQUIRE(!other);
  CHECK(other.errors()[0].what.find("calls itself 'acme'") != std::string::npos);
  CHECK(other.errors()[0].loc == loc);
  auto none = open("acme", "./nothing.so");
  REQUIRE(!none);
  CHECK(none.errors()[0].code == 1001);
  CHECK(none.errors()[0].what.find(
            (dir.path / "nothing.so").lexically_normal().filename().string()) != std::string::npos);
  auto path = index_plugins({.plugin_paths = {"/no/such/folder"}, .shipped = false});
  REQUIRE(!path);
  CHECK(path.errors()[0].code == 1001);
}

TEST_CASE("session: a bad plugin in a searched folder is a warning, and changes nothing else") {
  const Folder dir;
  dir.add("foreign.so", "a.so");
  dir.add("good.so", "b.so");
  auto s = open_session({.plugin_paths = {dir.path.string()}, .shipped = false});
  REQUIRE(s);
  CHECK(s->pass("acme.nothing"));
  REQUIRE(s->warnings().size() == 1);
  CHECK(s->warnings()[0].code == 1004);
  CHECK(s->warnings()[0].severity == Severity::warning);
}

TEST_CASE("session: inspecting a file tells what it is, loading nothing") {
  const Folder dir;
  const std::string file = dir.add("good.so", "acme.so");
  const PluginRow row = inspect_plugin(file);
  CHECK(row.status == PluginStatus::ok);
  CHECK(row.candidate.id() == "acme");
  CHECK(std::string(row.candidate.descriptor.version) == "1.2.3");
  CHECK(plugin_host::kinds_text(row.candidate.descriptor.kinds) == "pass");
  CHECK(!in_memory(fs::canonical(file).string()));
}

}  // namespace
}  // namespace tenon
