// One process that compiles again and again.
#include <doctest/doctest.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>

#include "core/pipeline/compile.h"
#include "core/support/files.h"
#include "tests/support/runtime.h"

namespace tenon::test {
namespace {

constexpr const char* model = R"(tenon 1.0
module "again"
func @main(%0 "x": f32[8, 32]) -> ("y") {
  %1 = neg(%0) : f32[8, 32]
  %2 = softmax(%1) {axis = 1} : f32[8, 32]
  return %2
}
)";

/// Bytes of this process in memory once what is free was given back.
std::uint64_t resident() {
  malloc_trim(0);
  std::ifstream f("/proc/self/statm");
  std::uint64_t size = 0, pages = 0;
  f >> size >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__)  // it keeps what is freed, and finds what is lost itself
TEST_CASE("compile: two hundred times in one process take the memory of twenty") {
  const TempDir dir;
  const std::string path = (dir.path() / "again.tir").string();
  REQUIRE(DiskFiles().write(path, model));
  const auto once = [&] {
    auto chain =
        open_toolchain({.pipeline = "graph-cpu", .board = {}, .set = {}, .share = {}}, {}, nullptr);
    REQUIRE(chain);
    auto c = compile(*chain, {.model = path, .threads = 2});
    REQUIRE(c);
    REQUIRE((*c)->files.contains("kernels.so"));
  };
  for (int i = 0; i < 20; ++i) once();
  const std::uint64_t before = resident();
  for (int i = 20; i < 200; ++i) once();
  const std::uint64_t after = resident();
  // A leak of 16 KB at each would be found; LLVM's pools settle within less.
  CHECK_MESSAGE(after < before + (3 << 20), before << " bytes, then " << after);
}
#endif

}  // namespace tenon::test
