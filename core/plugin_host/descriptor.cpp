#include "core/plugin_host/descriptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>

#include "core/plugin_host/elf.h"
#include "core/plugin_host/file.h"
#include "tenon/plugin.h"

namespace tenon::plugin_host {
namespace {

using Bad = std::optional<Diag>;

constexpr char kMagic[8] = TN_MAGIC;
constexpr std::uint32_t kOldestSize = 472;  // sizeof(tn_descriptor) of the first version
constexpr std::uint16_t kOldestApi = 1;     // oldest C API that this host still speaks
static_assert(sizeof(tn_descriptor) >= kOldestSize, "the descriptor only grows");

/// Zero-terminated inside its array, without control characters (it is printed on terminals).
template <std::size_t N>
bool readable(const char (&s)[N]) {
  const char* end = std::find(s, s + N, '\0');
  return end != s + N &&
         std::none_of(s, end, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// `word` or `word.word`, of lower-case letters, digits and hyphens.
bool well_formed_id(std::string_view id) {
  const auto word = [](std::string_view w) {
    return !w.empty() && w[0] >= 'a' && w[0] <= 'z' && std::ranges::all_of(w, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
  };
  const auto dot = id.find('.');
  return word(id.substr(0, dot)) && (dot == id.npos || word(id.substr(dot + 1)));
}

Bad check_form(const tn_descriptor& d, std::uint64_t available, const std::string& path) {
  const std::string_view rebuild =
      "rebuild it with tenon_add_plugin() and TENON_PLUGIN or TENON_PLANNER";
  if (std::memcmp(d.magic, kMagic, sizeof kMagic) != 0)
    return refuse(1004, path, "its descriptor does not begin with the magic word", rebuild);
  if (d.struct_size < kOldestSize || d.struct_size > available)
    return refuse(1004, path,
                  fmt::format("its descriptor says {} bytes; {} to {} are possible", d.struct_size,
                              kOldestSize, available),
                  rebuild);
  if (!readable(d.id) || !readable(d.version) || !readable(d.core_version) || !readable(d.doc) ||
      !readable(d.licence) || !readable(d.homepage) || !readable(d.build_id))
    return refuse(1004, path,
                  "its descriptor holds text that does not end or has control characters", rebuild);
  if (!well_formed_id(d.id))
    return refuse(1004, path, fmt::format("its id '{}' is not a word, or two with a dot", d.id),
                  "use lower-case letters, digits and hyphens: acme, acme.first-fit");
  if (d.tier != TN_TIER_NATIVE && d.tier != TN_TIER_STABLE)
    return refuse(1004, path,
                  fmt::format("its tier is {}; 1 (native) and 2 (stable) exist", d.tier), rebuild);
  return {};
}

std::string yes_no(std::uint64_t v) { return v ? "with" : "without"; }
std::string stdlib_name(std::uint64_t v) {
  return v == TN_STDLIB_GNU    ? "libstdc++"
         : v == TN_STDLIB_LLVM ? "libc++"
         : v == TN_STDLIB_NONE ? "none"
                               : "another library";
}
std::string hex(std::uint64_t v) { return fmt::format("{:016x}", v); }
std::string number(std::uint64_t v) { return fmt::format("{}", v); }

/// The hard fields. Checked in this order: the first that differs is usually the cause of the
/// others.
struct HardField {
  const char* what;
  std::uint64_t (*get)(const tn_fingerprint&);
  std::string (*show)(std::uint64_t);
  const char* fix;
};
#define FIELD(f) [](const tn_fingerprint& p) -> std::uint64_t { return p.f; }
const HardField kHardFields[] = {
    {"standard library", FIELD(stdlib), stdlib_name, "build with -stdlib=libstdc++"},
    {"_GLIBCXX_USE_CXX11_ABI", FIELD(cxx11_abi), number,
     "remove -D_GLIBCXX_USE_CXX11_ABI=... from its flags"},
    {"_GLIBCXX_DEBUG", FIELD(glibcxx_debug), yes_no, "remove -D_GLIBCXX_DEBUG from its flags"},
    {"RTTI", FIELD(rtti), yes_no, "remove -fno-rtti from its flags"},
    {"exceptions", FIELD(exceptions), yes_no, "remove -fno-exceptions from its flags"},
    {"sizeof(std::string)", FIELD(size_string), number,
     "build it with the compiler and flags of this tenon"},
    {"sizeof(std::vector)", FIELD(size_vector), number,
     "build it with the compiler and flags of this tenon"},
    {"sizeof(std::function)", FIELD(size_function), number,
     "build it with the compiler and flags of this tenon"},
    {"sizeof(std::shared_ptr)", FIELD(size_shared_ptr), number,
     "build it with the compiler and flags of this tenon"},
    {"sizeof(std::optional)", FIELD(size_optional), number,
     "build it with the compiler and flags of this tenon"},
    {"hash of sdk/include", FIELD(sdk_hash), hex, "rebuild it against the headers of this tenon"},
};
#undef FIELD

std::string rebuild_line() {
  return "cmake -S PLUGIN -B build -DCMAKE_PREFIX_PATH=PREFIX_OF_THIS_TENON && cmake --build build";
}

Bad check_native(const tn_descriptor& d, const std::string& path) {
  if (d.abi_major != TN_ABI_MAJOR || d.abi_minor != TN_ABI_MINOR)
    return refuse(
        1005, path,
        fmt::format("plugin '{}' was built for ABI {}.{} (tenon {}), this tenon {} has ABI {}.{}",
                    d.id, d.abi_major, d.abi_minor, d.core_version, TN_VERSION, TN_ABI_MAJOR,
                    TN_ABI_MINOR),
        rebuild_line());
  for (const HardField& f : kHardFields) {
    const std::uint64_t theirs = f.get(d.fingerprint), ours = f.get(host_fingerprint());
    if (theirs != ours)
      return refuse(1005, path,
                    fmt::format("plugin '{}' was built with another {}: {}, this tenon: {}", d.id,
                                f.what, f.show(theirs), f.show(ours)),
                    fmt::format("{}: {}", f.fix, rebuild_line()));
  }
  return {};
}

Bad check_stable(const tn_descriptor& d, const std::string& path) {
  if (d.api_min > TN_API)
    return refuse(
        1005, path,
        fmt::format("plugin '{}' needs the C API {} or newer (tenon {}), this tenon {} has {}",
                    d.id, d.api_min, d.core_version, TN_VERSION, TN_API),
        "use a newer tenon, or a build of the plugin for this one");
  if (d.api_built < kOldestApi)
    return refuse(1005, path,
                  fmt::format("plugin '{}' was built for C API {}, this tenon speaks {} to {}",
                              d.id, d.api_built, kOldestApi, TN_API),
                  "rebuild it against newer headers");
  return {};
}

/// The major of libLLVM-19.so.1 or libLLVM.so.19.1; 0 when it is another library.
std::uint32_t llvm_major(std::string_view soname) {
  for (std::string_view begin : {"libLLVM-", "libLLVM.so."}) {
    if (!soname.starts_with(begin)) continue;
    std::uint32_t v = 0;
    std::from_chars(soname.data() + begin.size(), soname.data() + soname.size(), v);
    return v;
  }
  return 0;
}

/// TN1006. A captive core would register into a registry of its own and the host would see nothing.
Bad check_links(const tn_descriptor& d, const ElfFacts& elf, const std::string& path) {
  const std::string soname = fmt::format("libtenon.so.{}", TN_ABI_MAJOR);
  const bool links_core = std::ranges::find(elf.needed, soname) != elf.needed.end();
  const bool native = d.tier == TN_TIER_NATIVE;
  for (const std::string& s : elf.defined)
    if (s.starts_with("_ZN5tenon7OpTable") || s.starts_with("_ZN5tenon3bugE"))
      return refuse(1006, path, fmt::format("brings its own copy of Tenon's core (symbol {})", s),
                    "link Tenon::tenon, never core's sources or a static library of them");
  if (native && !links_core)
    return refuse(1006, path, fmt::format("is of the native tier but does not need {}", soname),
                  "build it with tenon_add_plugin(), which links Tenon::tenon");
  if (!native)
    for (const std::string& n : elf.needed)
      if (n.starts_with("libtenon.so"))
        return refuse(1006, path, fmt::format("is of the stable tier but needs {}", n),
                      "build it with tenon_add_plugin(... STABLE), which links headers only");
  for (const std::string& n : elf.needed)
    if (const std::uint32_t major = llvm_major(n); major != 0 && major != d.llvm_major)
      return refuse(
          1006, path, fmt::format("needs {} but declares LLVM {}", n, d.llvm_major),
          fmt::format("define TENON_PLUGIN_LLVM {} before including tenon/plugin.h", major));
  const std::string_view entry = native ? "tenon_plugin_entry" : "tenon_planner_at";
  if (std::ranges::find(elf.defined, entry) == elf.defined.end() && !(d.kinds & TN_KIND_VENDOR))
    return refuse(1006, path, fmt::format("does not export {}", entry),
                  "use TENON_PLUGIN or TENON_PLANNER");
  return {};
}

struct Read {
  Candidate candidate;
  ElfFacts elf;
};

Result<Read> read(const std::string& given) {
  auto file = PluginFile::open(given);
  if (!file) return file.errors();
  auto elf = read_elf(*file);
  if (!elf) return elf.errors();
  Read r{{.path = file->path()}, std::move(*elf)};
  if (r.elf.descriptor_size == 0)
    return refuse(1004, r.candidate.path, "is a shared object without a Tenon descriptor",
                  "a plugin says TENON_PLUGIN(...) or TENON_PLANNER(...) once; build it with "
                  "tenon_add_plugin()");
  tn_descriptor& d = r.candidate.descriptor;
  // A newer plugin's descriptor is longer (its tail is not read), an older one's shorter (its tail
  // stays zero).
  std::uint32_t size = 0;
  constexpr std::uint64_t size_at = offsetof(tn_descriptor, struct_size);
  if (r.elf.descriptor_size < kOldestSize ||
      !file->read(r.elf.descriptor_at + size_at, &size, sizeof size))
    return refuse(
        1004, r.candidate.path,
        fmt::format("has {} bytes where its descriptor should stand", r.elf.descriptor_size),
        "build or copy it again");
  const std::uint64_t n = std::clamp<std::uint64_t>(size, kOldestSize, sizeof d);
  if (!file->read(r.elf.descriptor_at, &d, std::min(n, r.elf.descriptor_size)))
    return refuse(1004, r.candidate.path, "its descriptor cannot be read",
                  "build or copy it again");
  if (auto bad = check_form(d, r.elf.descriptor_size, r.candidate.path)) return *bad;
  return r;
}

}  // namespace

const tn_fingerprint& host_fingerprint() {
  static constexpr tn_fingerprint kHost = TN_FINGERPRINT_NATIVE;
  return kHost;
}

Result<Candidate> read_descriptor(const std::string& path) {
  auto r = read(path);
  if (!r) return r.errors();
  return std::move(r->candidate);
}

Result<Candidate> inspect(const std::string& path) {
  auto r = read(path);
  if (!r) return r.errors();
  const Candidate& c = r->candidate;
  if (auto bad = c.descriptor.tier == TN_TIER_NATIVE ? check_native(c.descriptor, c.path)
                                                     : check_stable(c.descriptor, c.path))
    return *bad;
  if (auto bad = check_links(c.descriptor, r->elf, c.path)) return *bad;
  return std::move(r->candidate);
}

std::string_view tier_name(std::uint32_t tier) {
  return tier == TN_TIER_NATIVE ? "native" : "stable";
}

std::string kinds_text(std::uint32_t kinds) {
  constexpr std::pair<std::uint32_t, std::string_view> kNames[] = {
      {TN_KIND_FRONTEND, "frontend"}, {TN_KIND_PASS, "pass"},
      {TN_KIND_LOWERING, "lowering"}, {TN_KIND_PLANNER, "planner"},
      {TN_KIND_EXECUTOR, "executor"}, {TN_KIND_TARGET, "target"},
      {TN_KIND_VENDOR, "vendor"},     {TN_KIND_OP, "op"}};
  std::string out;
  for (const auto& [bit, name] : kNames)
    if (kinds & bit) out += (out.empty() ? "" : ", ") + std::string(name);
  return out.empty() ? "not declared" : out;
}

}  // namespace tenon::plugin_host
