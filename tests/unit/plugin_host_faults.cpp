// Bad plugins: each fault is one line with path, reason and remedy, nothing of the plugin is taken,
// and nothing crashes.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <random>

#include "core/plugin_host/descriptor.h"
#include "core/plugin_host/session.h"
#include "core/support/files.h"

namespace tenon {
namespace {
namespace fs = std::filesystem;

const std::string kBuilt = TENON_BUILD_DIR "/tests/plugin_faults/";

/// A folder of one test case, removed with all it holds.
class TempDir {
 public:
  TempDir() {
    std::string t = (fs::temp_directory_path() / "tenon-XXXXXX").string();
    REQUIRE(::mkdtemp(t.data()) != nullptr);
    path_ = t;
  }
  ~TempDir() { fs::remove_all(path_); }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string bytes_of(const std::string& path) {
  auto r = DiskFiles().read(path);
  REQUIRE(r);
  return *r;
}
void write(const std::string& path, std::string_view bytes) {
  REQUIRE(DiskFiles().write(path, bytes));
}

std::size_t descriptor_at(const std::string& elf) {
  constexpr char magic[8] = TN_MAGIC;
  const std::size_t at = elf.find(std::string_view(magic, sizeof magic));
  REQUIRE(at != elf.npos);
  return at;
}

/// A copy of a built plugin with other bytes at `offset` of its descriptor.
template <class T>
std::string patched(std::string elf, std::size_t offset, const T& value) {
  std::memcpy(elf.data() + descriptor_at(elf) + offset, &value, sizeof value);
  return elf;
}
std::string with_fault(std::string_view fault) {
  std::string elf = bytes_of(kBuilt + "faulty.so");
  char* id = elf.data() + descriptor_at(elf) + offsetof(tn_descriptor, build_id);
  std::memset(id, 0, sizeof tn_descriptor{}.build_id);
  std::memcpy(id, fault.data(), fault.size());
  return elf;
}

/// What every message about a plugin has.
void check_message(const Diag& d, int code, std::string_view path, std::string_view reason) {
  INFO(d.what, " | ", d.fix);
  CHECK(d.code == code);
  CHECK(d.what.find(path) != d.what.npos);
  CHECK(d.what.find(reason) != d.what.npos);
  CHECK(d.what.find('\n') == d.what.npos);
  CHECK(!d.fix.empty());
}

/// The file is refused before any of its code runs.
void refused(const std::string& path, int code, std::string_view reason) {
  auto r = plugin_host::inspect(path);
  REQUIRE(!r);
  check_message(r.errors().front(), code, path, reason);
}

SessionOptions only(std::vector<std::string> paths) {
  return {.plugin_paths = std::move(paths), .shipped = false};
}

/// The file passes inspection and is refused when it is loaded for the sake of `pass`.
void refused_at_load(const std::string& path, std::string_view pass, int code,
                     std::string_view reason) {
  auto s = open_session(only({path}));
  REQUIRE(s);
  auto r = s->pass(pass);
  REQUIRE(!r);
  check_message(r.errors().front(), code, path, reason);
  CHECK(s->passes().empty());
  CHECK(s->warnings().size() >= 1);
}

TEST_CASE("plugin host: what is no plugin file") {
  const TempDir dir;
  refused(dir / "missing.so", 1002, "No such file");
  refused(dir.path(), 1002, "folder");
  write(dir / "empty.so", "");
  refused(dir / "empty.so", 1002, "empty");
  write(dir / "text.so", "plugins: {acme: {path: ./acme.so}}\n");
  refused(dir / "text.so", 1003, "not an ELF file");
  write(dir / "short.so", "\x7f");
  refused(dir / "short.so", 1003, "not an ELF file");
  refused(kBuilt + "foreign.so", 1004, "without a Tenon descriptor");
}

TEST_CASE("plugin host: a file that is cut short is refused wherever the cut is") {
  const TempDir dir;
  for (const char* name : {"good.so", "planner.so"}) {
    const std::string whole = bytes_of(kBuilt + name);
    std::vector<std::size_t> cuts{1,
                                  3,
                                  4,
                                  15,
                                  16,
                                  63,
                                  64,
                                  65,
                                  120,
                                  descriptor_at(whole),
                                  descriptor_at(whole) + 8,
                                  whole.size() - 1};
    for (std::size_t i = 1; i < 64; ++i) cuts.push_back(whole.size() * i / 64);
    for (const std::size_t n : cuts) {
      CAPTURE(n);
      write(dir / "cut.so", std::string_view(whole).substr(0, n));
      refused(dir / "cut.so", 1003, "");
    }
  }
}

TEST_CASE("plugin host: damaged bytes never crash the inspection") {
  const TempDir dir;
  const std::string whole = bytes_of(kBuilt + "planner.so");
  std::mt19937 random(20240501);
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = whole;
    // Half of the damage goes into the headers and tables at the front, where it matters most.
    const std::size_t reach = i % 2 ? damaged.size() : 0x400;
    for (int k = 0; k < 1 + i % 4; ++k) damaged[random() % reach] = static_cast<char>(random());
    write(dir / "damaged.so", damaged);
    if (auto r = plugin_host::inspect(dir / "damaged.so"); !r)
      CHECK(r.errors().front().code / 10 == 100);
  }
}

TEST_CASE("plugin host: another machine, another kind of ELF file") {
  const TempDir dir;
  std::string elf = bytes_of(kBuilt + "good.so");
  elf[18] = 0x28;  // e_machine: arm
  write(dir / "arm.so", elf);
  refused(dir / "arm.so", 1003, "is for arm");
  elf = bytes_of(kBuilt + "good.so");
  elf[4] = 1;  // 32 bits
  write(dir / "narrow.so", elf);
  refused(dir / "narrow.so", 1003, "64-bit");
  elf = bytes_of(kBuilt + "good.so");
  elf[16] = 1;  // e_type: an object file
  write(dir / "object.so", elf);
  refused(dir / "object.so", 1003, "not a shared object");
}

TEST_CASE("plugin host: descriptors that are malformed") {
  const TempDir dir;
  const std::string good = bytes_of(kBuilt + "good.so"), path = dir / "p.so";
  const auto check = [&](const std::string& elf, std::string_view reason) {
    write(path, elf);
    refused(path, 1004, reason);
  };
  check(patched(good, 0, 'X'), "magic");
  check(patched(good, offsetof(tn_descriptor, struct_size), 16u), "16 bytes");
  check(patched(good, offsetof(tn_descriptor, struct_size), 0xffffffffu), "4294967295 bytes");
  check(patched(good, offsetof(tn_descriptor, tier), 7u), "tier is 7");
  check(patched(good, offsetof(tn_descriptor, id), 'A'), "not a word");
  check(patched(good, offsetof(tn_descriptor, version), '\x1b'), "control characters");
  std::array<char, sizeof tn_descriptor{}.doc> endless;
  endless.fill('x');
  check(patched(good, offsetof(tn_descriptor, doc), endless), "does not end");
}

TEST_CASE("plugin host: ABI and each hard field of the fingerprint") {
  const TempDir dir;
  const std::string good = bytes_of(kBuilt + "good.so"), path = dir / "p.so";
  const auto check = [&](const std::string& elf, std::string_view reason) {
    write(path, elf);
    refused(path, 1005, reason);
  };
  check(patched(good, offsetof(tn_descriptor, abi_major), std::uint16_t{TN_ABI_MAJOR + 1}),
        "ABI 1.");
  check(patched(good, offsetof(tn_descriptor, abi_minor), std::uint16_t{TN_ABI_MINOR + 1}),
        "ABI 0.2");
  constexpr std::size_t print = offsetof(tn_descriptor, fingerprint);
  check(patched(good, print + offsetof(tn_fingerprint, sdk_hash), std::uint64_t{1}),
        "hash of sdk/include: 0000000000000001");
  check(patched(good, print + offsetof(tn_fingerprint, stdlib), std::uint8_t{TN_STDLIB_LLVM}),
        "libc++");
  const std::pair<std::size_t, std::string_view> fields[] = {
      {offsetof(tn_fingerprint, cxx11_abi), "_GLIBCXX_USE_CXX11_ABI"},
      {offsetof(tn_fingerprint, glibcxx_debug), "_GLIBCXX_DEBUG: with"},
      {offsetof(tn_fingerprint, rtti), "RTTI"},
      {offsetof(tn_fingerprint, exceptions), "exceptions"},
      {offsetof(tn_fingerprint, size_string), "sizeof(std::string): 77"},
      {offsetof(tn_fingerprint, size_vector), "sizeof(std::vector): 77"},
      {offsetof(tn_fingerprint, size_function), "sizeof(std::function): 77"},
      {offsetof(tn_fingerprint, size_shared_ptr), "sizeof(std::shared_ptr): 77"},
      {offsetof(tn_fingerprint, size_optional), "sizeof(std::optional): 77"}};
  for (const auto& [offset, reason] : fields)
    check(patched(good, print + offset, std::uint8_t{77}), reason);

  // The stable tier looks at the API window alone.
  const std::string planner = bytes_of(kBuilt + "planner.so");
  check(patched(planner, offsetof(tn_descriptor, api_min), std::uint16_t{TN_API + 1}),
        "C API 2 or newer");
  check(patched(planner, offsetof(tn_descriptor, api_built), std::uint16_t{0}), "C API 0");
  write(path, patched(planner, offsetof(tn_descriptor, api_built), std::uint16_t{TN_API + 5}));
  CHECK(plugin_host::inspect(path));
  write(path, patched(planner, print + offsetof(tn_fingerprint, size_string), std::uint8_t{77}));
  CHECK(plugin_host::inspect(path));
}

TEST_CASE("plugin host: linked the wrong way") {
  refused(kBuilt + "captive_core.so", 1006, "its own copy of Tenon's core");
  refused(kBuilt + "native_without_core.so", 1006, "does not need libtenon.so.0");
  refused(kBuilt + "stable_with_core.so", 1006, "needs libtenon.so.0");
  refused(kBuilt + "undeclared_llvm.so", 1006, "needs libLLVM-14.so but declares LLVM 0");
  refused_at_load(kBuilt + "undefined_symbol.so", "undefined.x", 1007, "nobody_defines_this");
  auto s = open_session(only({kBuilt + "missing_library.so"}));
  REQUIRE(s);
  auto r = s->planner("acme.one");
  REQUIRE(!r);
  check_message(r.errors().front(), 1007, "missing_library.so", "libtenon_absent.so");
  CHECK(r.errors().front().what.find("Bad file descriptor") == std::string::npos);
}

TEST_CASE("plugin host: everybody may write to it") {
  const TempDir dir;
  write(dir / "p.so", bytes_of(kBuilt + "good.so"));
  ::chmod((dir / "p.so").c_str(), 0666);
  refused(dir / "p.so", 1002, "everybody may write to it (mode 0666)");
  ::chmod((dir / "p.so").c_str(), 0644);
  ::chmod(dir.path().c_str(), 0777);
  refused(dir / "p.so", 1002, "everybody may write to its folder");
  // Found by a search, the folder's plugins are listed as refused and nothing fails.
  auto index = index_plugins(only({dir.path()}));
  REQUIRE(index);
  REQUIRE(index->rows.size() == 1);
  CHECK(index->rows[0].status == PluginStatus::refused);
  ::chmod(dir.path().c_str(), 0700);
  CHECK(plugin_host::inspect(dir / "p.so"));
}

TEST_CASE("plugin host: changes the process while it loads") {
  const TempDir dir;
  const auto cwd = fs::current_path();
  for (const auto& [fault, reason] : {std::pair{"flush-to-zero", "floating-point mode"},
                                      {"locale", "the locale"},
                                      {"folder", "working directory"},
                                      {"handler", "SIGSEGV"}}) {
    CAPTURE(fault);
    const std::string path = dir / (std::string(fault) + ".so");
    write(path, with_fault(fault));
    refused_at_load(path, "acme.faulty", 1008, reason);
    CHECK(fs::current_path() == cwd);
    volatile float tiny = 1e-38f;
    CHECK(tiny * 0.01f != 0.0f);
  }
}

TEST_CASE("plugin host: what it describes is wrong, so nothing of it is taken") {
  const TempDir dir;
  const std::tuple<const char*, int, const char*> faults[] = {
      {"throw", 1010, "the licence server is down"},
      {"throw-int", 1010, "no std::exception"},
      {"nothing", 1011, "offers nothing"},
      {"prefix", 1011, "'tenon.stolen'"},
      {"twice", 1011, "offered twice"},
      {"no-doc", 1011, "has no doc"},
      {"no-function", 1011, "has no function"},
      {"option", 1011, "default '77'"},
      {"kind", 1011, ""}};
  for (const auto& [fault, code, reason] : faults) {
    CAPTURE(fault);
    const std::string path = dir / (std::string(fault) + ".so");
    write(path, with_fault(fault));
    refused_at_load(path, "acme.faulty", code, reason);
  }
  auto s = open_session(only({kBuilt + "short_table.so"}));
  REQUIRE(s);
  auto r = s->planner("acme.short");
  REQUIRE(!r);
  check_message(r.errors().front(), 1011, "short_table.so", "complete table");
}

TEST_CASE("plugin host: two loaded files that offer one id") {
  for (const auto& files : {std::vector{kBuilt + "good.so", kBuilt + "good_again.so"},
                            std::vector{kBuilt + "good_again.so", kBuilt + "good.so"}}) {
    auto s = open_session(only(files));
    REQUIRE(s);
    auto r = s->pass("acme.nothing");
    REQUIRE(!r);
    check_message(r.errors().front(), 1011, "good.so", "good_again.so");
  }
  // Ops are taken when the session opens.
  auto ops = open_session(only({kBuilt + "undeclared.so", kBuilt + "undeclared_again.so"}));
  REQUIRE(!ops);
  check_message(ops.errors().front(), 1011, "undeclared.so", "undeclared_again.so");
}

}  // namespace
}  // namespace tenon
