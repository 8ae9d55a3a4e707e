#include "core/pipeline/object_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/support/files.h"
#include "core/support/sha256.h"
#include "tenon/ir.h"
#include "tenon/text.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "tenon-object-2\n";
constexpr std::size_t head = magic.size() + sizeof(Sha256);

std::string file_of(const std::string& folder, const std::string& key) {
  return join_path(folder, key + ".object");
}

/// Of the key as well: a file under another name is another object's.
Sha256 hash_of(const std::string& key, std::span<const std::byte> object) {
  Sha256Stream s;
  s.add(key);
  s.add("\n");
  s.add(object);
  return s.finish();
}

/// One spelling of the folder for whatever is done in it: `..` behind a link means what the system
/// means by it.
std::string resolved(const std::string& folder) {
  if (folder.empty()) return "";
  std::error_code ec;
  const fs::path p = fs::weakly_canonical(fs::absolute(folder, ec), ec);
  return ec ? "" : p.string();
}

}  // namespace

ObjectCache::ObjectCache(const std::string& folder, std::uint64_t limit)
    : folder_(resolved(folder)), limit_(limit) {}

ObjectCache ObjectCache::of_user() {
  if (const char* dir = std::getenv("TENON_CACHE_DIR")) return ObjectCache(dir);
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg)
    return ObjectCache(join_path(xdg, "tenon"));
  if (const char* home = std::getenv("HOME"); home && *home)
    return ObjectCache(join_path(home, ".cache/tenon"));
  return ObjectCache("");
}

std::optional<std::vector<std::byte>> ObjectCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = file_of(folder_, key);
  const auto text = DiskFiles().read(path);
  if (!text || text->size() < head || !text->starts_with(magic)) return std::nullopt;
  const std::string_view object = std::string_view(*text).substr(head);
  const auto bytes = std::as_bytes(std::span(object.data(), object.size()));
  const Sha256 sha = hash_of(key, bytes);
  if (std::memcmp(sha.data(), text->data() + magic.size(), sha.size()) != 0) return std::nullopt;
  std::error_code ec;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ec);  // used last
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

void ObjectCache::put(std::span<const Entry> entries) const {
  if (folder_.empty()) return;
  for (const Entry& e : entries) {
    if (e.object.size() > limit_ / 2) continue;
    const Sha256 sha = hash_of(e.key, e.object);
    const std::string_view parts[] = {
        magic,
        {reinterpret_cast<const char*>(sha.data()), sha.size()},
        {reinterpret_cast<const char*>(e.object.data()), e.object.size()}};
    if (!DiskFiles().write_parts(file_of(folder_, e.key), parts)) return;
  }
  evict();
}

void ObjectCache::evict() const {
  struct File {
    fs::file_time_type used;
    std::uint64_t bytes = 0;
    fs::path path;
  };
  std::vector<File> all;
  std::uint64_t sum = 0;
  std::error_code ec;
  for (fs::directory_iterator it(folder_, ec), end; !ec && it != end; it.increment(ec)) {
    if (it->path().extension() != ".object") continue;
    std::error_code gone;  // another process may remove what this one lists
    File e{it->last_write_time(gone), it->file_size(gone), it->path()};
    if (gone) continue;
    sum += e.bytes;
    all.push_back(std::move(e));
  }
  if (sum <= limit_) return;
  std::ranges::sort(all, {}, &File::used);
  for (const File& e : all) {
    if (sum <= limit_ / 4 * 3) break;
    if (fs::remove(e.path, ec)) sum -= e.bytes;
  }
}

namespace {

class Key {
 public:
  void add(std::string_view part) {
    stream_.add(fmt::format("{}:", part.size()));
    stream_.add(part);
  }
  std::string hex() { return sha256_hex(stream_.finish()); }

 private:
  Sha256Stream stream_;
};

}  // namespace

std::vector<std::string> kernel_keys(std::span<const tir::Kernel* const> kernels,
                                     const TargetFacts& facts, std::string_view identity) {
  std::vector<std::string> out;
  for (const tir::Kernel* k : kernels) {
    Key key;
    key.add(identity);
    for (const std::string* part : {&facts.with, &facts.triple, &facts.cpu, &facts.features})
      key.add(*part);
    key.add(fmt::format("{} {}", facts.vector_bytes, facts.vector_registers));
    key.add(print(*k));
    out.push_back(key.hex());
  }
  return out;
}

std::string object_key(std::span<const std::string> kernel_keys) {
  Key key;
  key.add("linked");
  for (const std::string& k : kernel_keys) key.add(k);
  return key.hex();
}

}  // namespace tenon
