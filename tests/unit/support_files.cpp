// Files, hashes and text helpers.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "core/support/files.h"
#include "core/support/sha256.h"
#include "core/support/utf8.h"
#include "tests/support/memory_files.h"

namespace tenon {
namespace {
namespace fs = std::filesystem;

struct TempDir {
  std::string path = (fs::temp_directory_path() / "tenon-XXXXXX").string();
  TempDir() { REQUIRE(::mkdtemp(path.data())); }
  ~TempDir() { fs::remove_all(path); }
};

TEST_CASE("files: written as a whole, read back, listed in order") {
  const TempDir dir;
  DiskFiles files;
  const std::string bytes("a\0b\xff\n", 5);
  REQUIRE(files.write(dir.path + "/sub/b.bin", bytes));
  REQUIRE(files.write(dir.path + "/sub/a.bin", "old"));
  REQUIRE(files.write(dir.path + "/sub/a.bin", ""));
  CHECK(*files.read(dir.path + "/sub/b.bin") == bytes);
  CHECK(files.read(dir.path + "/sub/a.bin")->empty());
  CHECK(files.list(dir.path + "/sub") == std::vector<std::string>{"a.bin", "b.bin"});
  CHECK(files.list(dir.path + "/none").empty());
  CHECK(files.exists(dir.path + "/sub/a.bin"));
  CHECK_FALSE(files.exists(dir.path + "/sub"));
}

TEST_CASE("files: what cannot be read or written says why") {
  const TempDir dir;
  DiskFiles files;
  const auto missing = files.read(dir.path + "/none");
  REQUIRE_FALSE(missing);
  CHECK(missing.errors()[0].code == 2001);
  CHECK(missing.errors()[0].what.find("No such file") != std::string::npos);
  const auto folder = files.read(dir.path);
  REQUIRE_FALSE(folder);
  CHECK(folder.errors()[0].what.ends_with("it is a folder"));
  const auto device = files.read("/dev/null");
  REQUIRE_FALSE(device);
  CHECK(device.errors()[0].what.ends_with("it is not a regular file"));
  REQUIRE(files.write(dir.path + "/file", "x"));
  const Status under_file = files.write(dir.path + "/file/x", "y");
  REQUIRE_FALSE(under_file);
  CHECK(under_file.errors()[0].code == 2002);
  fs::create_directory(dir.path + "/taken");
  CHECK_FALSE(files.write(dir.path + "/taken", "y"));
  CHECK(files.list(dir.path) == std::vector<std::string>{"file"});  // no temporary file is left
}

TEST_CASE("paths: joining and folders") {
  CHECK(join_path("a/b", "../c.yaml") == "a/c.yaml");
  CHECK(join_path("a", "/x/y") == "/x/y");
  CHECK(join_path(".", "c") == "c");
  CHECK(folder_of("a/b/c") == "a/b");
  CHECK(folder_of("c") == ".");
}

TEST_CASE("sha256: known answers, pieces equal the whole") {
  const auto hex = [](const Sha256& h) {
    std::string s;
    for (auto b : h) s += fmt::format("{:02x}", b);
    return s;
  };
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256Stream s;
  s.add("a");
  s.add("");
  s.add("bc");
  CHECK(s.finish() == sha256("abc"));
}

TEST_CASE("utf8: columns and printable text") {
  CHECK(code_point_column("\xC3\xA9x", 2) == 1);
  CHECK(code_point_column("\xC3\xA9x", 3) == 2);
  CHECK(byte_offset("\xC3\xA9x", 1) == 2);
  CHECK(byte_offset("ab", 5) == 5);
  CHECK(code_points("\xF0\x9F\x98\x80") == std::u32string{0x1F600});
  CHECK(printable("\xE2\x82\xAC") == "\xE2\x82\xAC");
  // broken, overlong, surrogate, too large, truncated: one mark per byte
  for (const char* s : {"\xff", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"})
    CHECK(printable(s) == std::string(std::string_view(s).size(), '?'));
}

}  // namespace
}  // namespace tenon
