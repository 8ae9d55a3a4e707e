// What the runtime does when something is wrong: pools that are too small, kernels that fail,
// artefacts that are damaged.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/native_target.h"
#include "tests/support/runtime.h"

namespace tenon::test {
namespace {

/// A kernel object written as C would be, with failing kernels.
std::vector<std::byte> failing_object() {
  const TempDir dir;
  const std::string c = (dir.path() / "k.c").string(), so = (dir.path() / "k.so").string();
  const std::string text =
      "#include <stdint.h>\n"
      "int32_t ok(void* const* b, const int64_t* d, void* w, int64_t i, int64_t j) { for (; i < j; "
      "++i) ((char*)b[1])[i] = ((char*)b[0])[i]; return 0; }\n"
      "int32_t fails(void* const* b, const int64_t* d, void* w, int64_t i, int64_t j) { return i "
      "== 0 ? 41 : 42; }\n"
      "int32_t overruns(void* const* b, const int64_t* d, void* w, int64_t i, int64_t j) { "
      "((char*)b[1])[j] = 1; return 0; }\n";
  write_file(c, text.data(), text.size());
  REQUIRE(std::system(("cc -shared -fPIC -O1 -o " + so + " " + c).c_str()) == 0);
  const std::string bytes = read_text(so);
  const auto* p = reinterpret_cast<const std::byte*>(bytes.data());
  return {p, p + bytes.size()};
}

/// x -> k1 -> pool -> k2 -> y over 100 bytes.
ExecProgram two_steps(const std::string& first, const std::string& second) {
  const TensorType t(DType::u8, Shape{100});
  ExecProgram p;
  p.inputs = {{.name = "x", .type = t, .align = 1}};
  p.outputs = {{.name = "y", .type = t, .align = 1}};
  p.pools = {{"ram", 100, 64, ExecPool::Kind::data}};
  for (const std::string& s : {first, second})
    p.kernels.push_back({.symbol = s, .n_inputs = 1, .n_outputs = 1, .extent = 100});
  p.steps = {SmallModel::call("one", 0, {at_input(0, 100), at_pool(0, 0, 100)}),
             SmallModel::call("two", 1, {at_pool(0, 0, 100), at_output(0, 100)})};
  return p;
}

}  // namespace

TEST_CASE("runtime: a pool of the exact size suffices under guard, one byte less faults") {
  // Alignment 1, so that the pool's last byte is the last before the guard page.
  for (std::uint64_t missing : {0u, 1u}) {
    SmallModel m(1);
    m.program.pools[0].bytes -= missing;  // kernels still write all of it
    for (ExecStep& s : m.program.steps)
      for (ArgPlace& a : s.args)
        if (a.kind == ArgPlace::Kind::pool && a.index == 0) a.bytes -= missing;
    const TempDir dir;
    write_artefact(dir.path(), m.program, m.kernels);
    const auto model = load(dir.path());
    const int signal = signal_of([&] {
      const tn_context_options o{sizeof o, 1, TN_GUARD};
      tn_context* c = nullptr;
      if (tn_context_create(model.get(), &o, &c) ||
          tn_set_input(c, 0, TN_F32, 2, SmallModel::dims, m.x.data()) || tn_run(c))
        _exit(1);
    });
    CHECK(signal == (missing ? SIGSEGV : 0));
  }
}

TEST_CASE("runtime: a constant in a read-only pool cannot be written") {
  SmallModel m;
  m.program.steps[0].args[2] = at_pool(1, 0, SmallModel::bytes);
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  CHECK(load_code(dir.path()) == TN_RT_PROGRAM);
  CHECK(says("'flash'"));
}

TEST_CASE("runtime: a failing kernel stops the run with its code; the context runs again") {
  const auto object = failing_object();
  std::vector<std::unique_ptr<TempDir>>
      folders;  // one each: a loaded object must not change under the process
  const auto write = [&](const ExecProgram& p) {
    const auto& folder = folders.emplace_back(std::make_unique<TempDir>())->path();
    for (const auto& [name, content] : emit_files(p)) {
      const std::vector<std::byte> bytes = content.joined();
      write_file(folder / name, bytes.data(), bytes.size());
    }
    write_file(folder / "kernels.so", object.data(), object.size());
    seal(folder);
    return folder;
  };
  std::vector<std::uint8_t> x(100, 7), before(100, 1);
  const std::int64_t dims[] = {100};
  {
    const auto c = context(load(write(two_steps("fails", "ok"))), 3);
    for (int n = 0; n < 2; ++n) {
      REQUIRE(tn_set_input(c.get(), 0, TN_U8, 1, dims, x.data()) == 0);
      REQUIRE(tn_bind_output(c.get(), 0, TN_U8, 1, dims, before.data()) == 0);
      CHECK(tn_run(c.get()) == TN_RT_KERNEL);
      CHECK(says("'one'"));
      CHECK(says("'fails'"));
      CHECK(says("code 41"));  // of the first part of the range, whoever was quicker
      CHECK(before[0] == 1);   // the second step did not run
    }
  }
  const auto c = context(load(write(two_steps("ok", "ok"))), 3);
  REQUIRE(tn_set_input(c.get(), 0, TN_U8, 1, dims, x.data()) == 0);
  REQUIRE(tn_run(c.get()) == 0);
  const void* y = nullptr;
  REQUIRE(tn_output(c.get(), 0, &y) == 0);
  CHECK(static_cast<const std::uint8_t*>(y)[99] == 7);
  const auto guarded = context(load(write(two_steps("overruns", "ok"))), 1, TN_GUARD);
  REQUIRE(tn_set_input(guarded.get(), 0, TN_U8, 1, dims, x.data()) == 0);
  CHECK(tn_run(guarded.get()) == TN_RT_OVERRUN);
  CHECK(says("'one'"));
  CHECK(load_code(write(two_steps("ok", "absent"))) == TN_RT_OBJECT);
  CHECK(says("'absent'"));
}

TEST_CASE(
    "runtime: missing, short and foreign files, newer formats and other CPUs are refused by code") {
  const SmallModel m;
  const TempDir dir;
  const auto fresh = [&] { write_artefact(dir.path(), m.program, m.kernels); };
  fresh();
  REQUIRE(load_code(dir.path()) == 0);
  CHECK(load_code(dir.path() / "nowhere") == TN_RT_FILE);
  std::filesystem::resize_file(dir.path() / "constants.flash.bin", 100);
  CHECK(load_code(dir.path()) == TN_RT_FILE);
  CHECK(says("100 bytes instead of 4096"));
  fresh();
  std::filesystem::remove(dir.path() / "constants.flash.bin");
  CHECK(load_code(dir.path()) == TN_RT_FILE);
  fresh();
  std::filesystem::remove(dir.path() / "program.json");
  CHECK(load_code(dir.path()) == TN_RT_FILE);
  fresh();
  const auto whole = std::filesystem::file_size(dir.path() / "kernels.so");
  for (auto n : {whole / 2, std::uintmax_t{100}, std::uintmax_t{10}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(dir.path() / "kernels.so", n);
    CHECK(load_code(dir.path()) == TN_RT_OBJECT);
  }
  fresh();
  auto j = nlohmann::json::parse(read_text(dir.path() / "program.json"));
  const auto with = [&](const nlohmann::json& changed) {
    const std::string s = changed.dump();
    write_file(dir.path() / "program.json", s.data(), s.size());
    seal(dir.path());
    return load_code(dir.path());
  };
  auto newer = j;
  newer["format"]["major"] = 2;
  CHECK(with(newer) == TN_RT_VERSION);
  auto minor = j;
  minor["format"]["minor"] = 99;
  minor["an addition"] = {1, 2};
  CHECK(with(minor) == 0);
  auto cpu = j;
  cpu["target"]["features"] = {"avx2000"};
  CHECK(with(cpu) == TN_RT_CPU);
  CHECK(says("avx2000"));
  auto huge = j;
  huge["pools"][0]["bytes"] = std::uint64_t{1} << 60;
  REQUIRE(with(huge) == 0);
  tn_context* c = nullptr;
  CHECK(tn_context_create(load(dir.path()).get(), nullptr, &c) == TN_RT_MEMORY);
}

TEST_CASE("runtime: every damaged number is refused with its place") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto j = nlohmann::json::parse(read_text(dir.path() / "program.json"));
  using Pointer = nlohmann::json::json_pointer;
  const auto code_with = [&](const char* at, const nlohmann::json& value) {
    auto changed = j;
    changed[Pointer(at)] = value;
    const std::string s = changed.dump();
    write_file(dir.path() / "program.json", s.data(), s.size());
    seal(dir.path());
    return load_code(dir.path());
  };
  const std::pair<const char*, nlohmann::json> damages[] = {
      {"/steps/0/kernel", 2},
      {"/steps/0/args/0/1", 1},
      {"/steps/0/args/0/2", 1},
      {"/steps/0/args/0/3", 4097},
      {"/steps/0/args/1/1", 2},
      {"/steps/0/args/1/2", UINT64_MAX},
      {"/steps/0/args/2/0", "heap"},
      {"/steps/0/args/2", {"pool", 0}},
      {"/steps/0/args", nlohmann::json::array()},
      {"/steps/0/kind", "jump"},
      {"/steps/1/args/2", {"input", 0, 0, 4096}},
      {"/steps", 3},
      {"/pools/0/align", 3},
      {"/pools/0/align", 0},
      {"/pools/0/kind", "swap"},
      {"/pools/1/image", "../secret"},
      {"/pools/1/image", "a/b"},
      {"/pools/1/bytes", -1},
      {"/inputs/0/bytes", 4095},
      {"/inputs/0/dims/0", -4},
      {"/inputs/0/dims/0", UINT64_MAX},
      {"/inputs/0/dtype", "f33"},
      {"/inputs/0/place", {"pool", 0, 1, 4096}},
      {"/constants/0/0", 2},
      {"/constants/0/1", 1},
      {"/kernels/0/grain", 0},
      {"/kernels/0/extent", -1},
      {"/kernels/0/args", 2},
      {"/kernels/0/args", {4096, 4096}},
      {"/kernels/0/args/1", 4095},
      {"/steps/0/args/2/3", 4092},
      {"/pools/0/align", std::uint64_t{1} << 32},
      {"/inputs/0/align", std::uint64_t{1} << 32},
      {"/kernels/0/inputs", 4},
      {"/kernels/0/symbol", 7},
      {"/kernels/0/worker", {0, 0, 8}},
      {"/objects", nlohmann::json::array()},
      {"/objects/0", "/etc/passwd"},
      {"/target/features", "avx2"},
      {"/model", nullptr},
      {"/format/major", "one"}};
  for (const auto& [at, value] : damages) {
    CHECK_MESSAGE(code_with(at, value) == TN_RT_PROGRAM, at, " = ", value.dump());
    CHECK(says("program.json"));
  }
}

TEST_CASE("runtime: truncated and flipped program files never crash") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const std::string good = read_text(dir.path() / "program.json");
  const int signal = signal_of([&] {
    std::mt19937 rng(5);
    const auto attempt = [&](const std::string& text) {
      std::FILE* f = std::fopen((dir.path() / "program.json").c_str(), "wb");
      std::fwrite(text.data(), 1, text.size(), f);
      std::fclose(f);
      seal(dir.path());
      tn_model* model = nullptr;
      const int code = tn_model_load(dir.path().c_str(), &model);
      tn_context* c = nullptr;
      if (code == 0)
        tn_context_create(model, nullptr, &c);  // not run: a kernel trusts the extent it is given
      tn_context_free(c);
      tn_model_free(model);
      if (code != 0 && tn_last_error()[0] == 0) _exit(1);
    };
    for (std::size_t n = 0; n < good.size(); n += 7) attempt(good.substr(0, n));
    for (int n = 0; n < 1500; ++n) {
      std::string bad = good;
      bad[rng() % bad.size()] ^= static_cast<char>(1u << (rng() % 8));
      attempt(bad);
    }
    attempt(std::string(200000, '['));
  });
  CHECK(signal == 0);
}

TEST_CASE("graph executor: refuses what its format cannot say; equal programs give equal bytes") {
  SmallModel m;
  CHECK(emit_files(m.program) == emit_files(SmallModel().program));
  const Module none{nullptr};
  ArtefactFiles out;
  const Status no_object = graph_executor().emit(m.program, none, {}, {"kernels.c"}, out);
  REQUIRE_FALSE(no_object);
  CHECK(no_object.errors()[0].code == 6202);
  SmallModel uneven;
  uneven.program.steps[1].kernel = 0;
  for (ArgPlace& a : uneven.program.steps[1].args) a.bytes /= 2;
  const Status sizes = graph_executor().emit(uneven.program, none, {}, {"kernels.so"}, out);
  REQUIRE_FALSE(sizes);
  CHECK(sizes.errors()[0].code == 9063);
  m.program.inputs[0].type.dims[0] = Dim::symbol(0);
  const Status symbolic = graph_executor().emit(m.program, none, {}, {"kernels.so"}, out);
  REQUIRE_FALSE(symbolic);
  CHECK(symbolic.errors()[0].code == 6201);
  CHECK(out.empty());
}

}  // namespace tenon::test
