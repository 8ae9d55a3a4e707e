#include <fmt/format.h>
#include <lld/Common/Driver.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>

#include "codegen.h"

LLD_HAS_DRIVER(elf)

namespace tenon::llvm_target {
namespace {

/// A fresh folder that goes with this object. Its name does not reach the linked bytes.
class TempFolder {
 public:
  TempFolder() {
    std::error_code ec;
    std::string pattern = (std::filesystem::temp_directory_path(ec) / "tenon-link-XXXXXX").string();
    if (!ec && mkdtemp(pattern.data())) path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ec;
    if (!path_.empty()) std::filesystem::remove_all(path_, ec);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Diag cannot(std::string what) {
  return Diag{.code = 6105,
              .what = std::move(what),
              .fix = "is there room in the folder for temporary files?"};
}

}  // namespace

Result<ObjectBytes> link_shared(std::span<const ObjectBytes> objects, const std::string& soname) {
  static std::mutex one_at_a_time;
  static bool can_run = true;
  const std::lock_guard lock(one_at_a_time);
  if (!can_run)
    return Diag{.code = 6105,
                .what = "the linker failed before in this process and cannot run again"};
  const TempFolder folder;
  if (folder.path().empty()) return cannot("cannot make a folder for temporary files");
  const std::string out_path = (folder.path() / soname).string();
  std::vector<std::string> words = {"ld.lld",
                                    "-shared",
                                    "-soname",
                                    soname,
                                    "-o",
                                    out_path,
                                    "-z",
                                    "defs",
                                    "-z",
                                    "noexecstack",
                                    "-z",
                                    "relro",
                                    "-z",
                                    "now",
                                    "--hash-style=gnu",
                                    "--build-id=none",
                                    "--strip-all",
                                    "--threads=1",
                                    "--no-rosegment"};
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::filesystem::path p = folder.path() / fmt::format("{}.o", i);
    std::ofstream f(p, std::ios::binary);
    f.write(reinterpret_cast<const char*>(objects[i].data()),
            static_cast<std::streamsize>(objects[i].size()));
    if (!f.flush())
      return cannot(fmt::format("cannot write {} bytes to {}", objects[i].size(), p.string()));
    words.push_back(p.string());
  }
  std::vector<const char*> argv;
  for (const std::string& w : words) argv.push_back(w.c_str());
  std::string said;
  llvm::raw_string_ostream os(said);
  const lld::Result r = lld::lldMain(argv, os, os, {{lld::Gnu, &lld::elf::link}});
  can_run = r.canRunAgain;
  if (r.retCode != 0)
    return Diag{.code = 6105, .what = fmt::format("linking the kernels failed: {}", said)};
  std::ifstream in(out_path, std::ios::binary | std::ios::ate);
  if (!in) return cannot(fmt::format("cannot read what the linker wrote, {}", out_path));
  std::vector<std::byte> bytes(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in)
    return cannot(fmt::format("cannot read {} bytes of what the linker wrote", bytes.size()));
  return bytes;
}

}  // namespace tenon::llvm_target
