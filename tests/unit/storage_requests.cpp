// The requests that ship: they are what they say, and `auto` plans them.
#include <doctest/doctest.h>

#include <filesystem>

#include "core/storage/files.h"
#include "core/storage/request.h"
#include "core/support/files.h"

namespace tenon {

TEST_CASE("storage requests: those that ship are canonical and read back to the same bytes") {
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_SOURCE_DIR "/sdk/requests")) {
    if (entry.path().extension() != ".json") continue;
    ++n;
    const std::string path = entry.path().string();
    CAPTURE(path);
    const auto text = DiskFiles().read(path);
    REQUIRE(text);
    const auto file = load_request(*text, path, StorageFormat::json);
    REQUIRE(file);
    CHECK(is_canonical(file->request));
    CHECK(to_json(file->request) == *text);
    CHECK(file->request.tokens.size() >= 12);
  }
  CHECK(n >= 12);
}

}  // namespace tenon
