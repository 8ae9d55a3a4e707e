// Objects on disk: found again, never damaged, bounded.
#include "core/pipeline/object_cache.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "core/support/files.h"
#include "tests/support/runtime.h"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> object(std::size_t n, int fill) {
  return std::vector<std::byte>(n, static_cast<std::byte>(fill));
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t sum = 0;
  for (const auto& e : fs::directory_iterator(folder)) sum += e.file_size();
  return sum;
}

}  // namespace

TEST_CASE("object cache: what was put is found, by its key alone, also by another process") {
  const TempDir dir;
  const std::string folder = (dir.path() / "a/b").string();
  const ObjectCache cache(folder);
  CHECK_FALSE(cache.find("k1"));
  cache.put("k1", object(1000, 7));
  cache.put("k2", object(0, 0));
  CHECK(cache.find("k1") == object(1000, 7));
  CHECK(ObjectCache(folder).find("k2") == object(0, 0));
  CHECK_FALSE(cache.find("k3"));
  const ObjectCache none("");
  none.put("k1", object(10, 1));
  CHECK_FALSE(none.find("k1"));
}

TEST_CASE("object cache: a damaged entry is not there") {
  const TempDir dir;
  const ObjectCache cache(dir.path().string());
  cache.put("k", object(200, 3));
  const std::string path = (dir.path() / "k.object").string();
  const std::string good = *DiskFiles().read(path);
  for (std::size_t at = 0; at < good.size(); at += 11) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 16);
    REQUIRE(DiskFiles().write(path, bad));
    CHECK_MESSAGE(!cache.find("k"), at);
    REQUIRE(DiskFiles().write(path, good.substr(0, at)));
    CHECK_MESSAGE(!cache.find("k"), at);
  }
  cache.put("k", object(200, 3));
  CHECK(cache.find("k") == object(200, 3));
}

TEST_CASE("object cache: an entry under the name of another is not there") {
  const TempDir dir;
  const ObjectCache cache(dir.path().string());
  cache.put("k", object(200, 3));
  cache.put("other", object(200, 4));
  fs::copy_file(dir.path() / "k.object", dir.path() / "other.object",
                fs::copy_options::overwrite_existing);
  CHECK(cache.find("k") == object(200, 3));
  CHECK_FALSE(cache.find("other"));
}

TEST_CASE("object cache: the folder is the one that the system means") {
  const TempDir dir;
  fs::create_directories(dir.path() / "real/deep");
  fs::create_directory_symlink(dir.path() / "real/deep", dir.path() / "link");
  const ObjectCache cache((dir.path() / "link/../kept/new").string(), 10000);
  for (int i = 0; i < 9; ++i) cache.put(std::to_string(i), object(1900, i));
  CHECK(cache.find("8") == object(1900, 8));
  CHECK_FALSE(fs::exists(dir.path() / "kept"));
  CHECK(bytes_in(dir.path() / "real/kept/new") <= 10000);
}

TEST_CASE("object cache: is bounded, and forgets what was used longest ago") {
  const TempDir dir;
  const ObjectCache cache(dir.path().string(), 10000);
  for (int i = 0; i < 9; ++i) {
    cache.put(std::to_string(i), object(1000, i));
    fs::last_write_time(dir.path() / (std::to_string(i) + ".object"),
                        fs::file_time_type::clock::now() - std::chrono::hours(20 - i));
  }
  CHECK(cache.find("0") == object(1000, 0));  // now the one used last
  cache.put("new", object(1000, 77));
  CHECK(bytes_in(dir.path()) <= 7500);
  CHECK(cache.find("0"));
  CHECK(cache.find("new"));
  CHECK_FALSE(cache.find("1"));
  cache.put("huge", object(6000, 1));  // more than half of all: not kept
  CHECK_FALSE(cache.find("huge"));
}

TEST_CASE("object cache: several may use one folder at once") {
  const TempDir dir;
  std::vector<std::thread> all;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&, t] {
      const ObjectCache cache(dir.path().string(), 60000);
      for (int i = 0; i < 200; ++i) {
        const int k = (i * 7 + t) % 13;
        cache.put(std::to_string(k), object(5000, k));
        const auto got = cache.find(std::to_string(k));
        if (got && *got != object(5000, k)) ++wrong;
      }
    });
  for (std::thread& t : all) t.join();
  CHECK(wrong == 0);
  CHECK(bytes_in(dir.path()) <= 60000 + 4 * 5100);
}

TEST_CASE("object cache: keys tell kernels, targets and compilers apart") {
  const tir::Kernel ka = binary_kernel("a", ScalarOp::add, 64),
                    kb = binary_kernel("a", ScalarOp::mul, 64),
                    kc = binary_kernel("a", ScalarOp::add, 128);
  const TargetFacts f{
      .id = "host", .with = "tenon.llvm", .triple = "t", .cpu = "c", .features = "x"};
  std::set<std::string> keys;
  const auto key = [&](std::vector<const tir::Kernel*> k, const TargetFacts& facts,
                       std::string_view id) {
    keys.insert(object_key(kernel_keys(k, facts, id)));
    CHECK(object_key(kernel_keys(k, facts, id)) == object_key(kernel_keys(k, facts, id)));
  };
  key({&ka}, f, "1");
  key({&kb}, f, "1");
  key({&kc}, f, "1");
  key({&ka, &kb}, f, "1");
  key({&ka}, f, "2");
  key({}, f, "1");
  for (auto change :
       {+[](TargetFacts& x) { x.cpu = "d"; }, +[](TargetFacts& x) { x.features = ""; },
        +[](TargetFacts& x) { x.vector_bytes = 64; },
        +[](TargetFacts& x) { x.vector_registers = 8; }, +[](TargetFacts& x) { x.triple = ""; },
        +[](TargetFacts& x) { x.with = ""; }}) {
    TargetFacts other = f;
    change(other);
    key({&ka}, other, "1");
  }
  CHECK(keys.size() == 12);
}

}  // namespace tenon::test
