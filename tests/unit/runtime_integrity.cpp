// Artefacts whose files are not those that were compiled: checksums, and numbers that were edited.
#include <doctest/doctest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/support/runtime.h"

namespace tenon::test {
namespace {

using Json = nlohmann::json;

/// Every number below `j`, as a pointer from the top.
std::vector<Json::json_pointer> numbers_of(const Json& j) {
  std::vector<Json::json_pointer> out;
  const Json flat = j.flatten();
  for (const auto& [path, value] : flat.items())
    if (value.is_number()) out.emplace_back(path);
  return out;
}

std::vector<Json> edits_of(const Json& was) {
  const auto n = was.get<std::uint64_t>();
  return {0, 1, -1, n + 1, n - 1, 1ull << 31, 1ull << 32, 1ull << 63};
}

void write_program(const std::filesystem::path& folder, const std::string& text) {
  write_file(folder / "program.json", text.data(), text.size());
}

}  // namespace

TEST_CASE("runtime: a program with any number edited is refused by its checksum") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const Json good = Json::parse(read_text(dir.path() / "program.json"));
  for (const auto& at : numbers_of(good))
    for (const Json& edit : edits_of(good[at])) {
      Json changed = good;
      changed[at] = edit;
      if (changed == good) continue;
      write_program(dir.path(), changed.dump());
      CHECK(load_code(dir.path()) == TN_RT_DAMAGED);
      CHECK(says("program.json"));
    }
}

TEST_CASE(
    "runtime: a program with any number edited and sealed again loads or is refused by name") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const Json good = Json::parse(read_text(dir.path() / "program.json"));
  const int signal = signal_of([&] {
    for (const auto& at : numbers_of(good))
      for (const Json& edit : edits_of(good[at])) {
        Json changed = good;
        changed[at] = edit;
        write_program(dir.path(), changed.dump());
        seal(dir.path());
        tn_model* model = nullptr;
        tn_context* c = nullptr;
        const int code = tn_model_load(dir.path().c_str(), &model);
        const int made = code ? code : tn_context_create(model, nullptr, &c);
        if (made != 0 && tn_last_error()[0] == 0) _exit(1);
        if (code != 0 && code != TN_RT_PROGRAM && code != TN_RT_FILE && code != TN_RT_VERSION)
          _exit(1);
        tn_context_free(c);
        tn_model_free(model);
      }
  });
  CHECK(signal == 0);
}

TEST_CASE("runtime: kernels, constants and checksums that are not those compiled are refused") {
  const SmallModel m;
  // One folder each: a loaded object must not change under the process.
  const TempDir kernels, sums, constants, other;
  for (const TempDir* d : {&kernels, &sums, &constants, &other})
    write_artefact(d->path(), m.program, m.kernels);
  const auto flip = [&](const std::filesystem::path& file) {
    std::string bytes = read_text(file);
    bytes.at(bytes.size() / 2) ^= 1;
    write_file(file, bytes.data(), bytes.size());
  };
  flip(kernels.path() / "kernels.so");
  CHECK(load_code(kernels.path()) == TN_RT_DAMAGED);
  CHECK(says("kernels.so"));
  flip(sums.path() / "checksums");
  CHECK(load_code(sums.path()) == TN_RT_DAMAGED);
  {
    const auto model = load(constants.path());
    CHECK(tn_model_verify(model.get()) == 0);
  }
  flip(constants.path() / "constants.flash.bin");
  {
    const auto model = load(constants.path());  // constants are checked when asked
    CHECK(tn_model_verify(model.get()) == TN_RT_DAMAGED);
    CHECK(says("constants.flash.bin"));
  }
  for (const char* text :
       {"", "0123", "zz  program.json\n", "0123456789abcdef0123456789abcdef  p"}) {
    write_file(other.path() / "checksums", text, std::strlen(text));
    CHECK(load_code(other.path()) == TN_RT_DAMAGED);
    CHECK(says("checksums"));
  }
  std::filesystem::remove(other.path() / "checksums");
  CHECK(load_code(other.path()) == TN_RT_FILE);
  CHECK(load_code(other.path() / "program.json") == TN_RT_FILE);
  CHECK(says("an artefact is a folder"));
}

}  // namespace tenon::test
