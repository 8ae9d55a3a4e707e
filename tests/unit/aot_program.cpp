// Hand-made programs as C: steps, constants, names, refusals.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <numeric>

#include "tests/support/aot_model.h"
#include "tests/support/runtime.h"

namespace tenon::test {
namespace {

struct alignas(64) Floats {
  float v[SmallModel::n];
};

const TensorType bytes_type(DType::u8, Shape{16});

ExecIo io(std::string name, TensorType t = bytes_type) {
  return {.name = std::move(name), .type = std::move(t), .align = 1};
}

ExecStep copy(ArgPlace from, ArgPlace to) {
  return {.kind = ExecStep::Kind::copy, .name = "copy", .args = {from, to}};
}

std::string text_of(const ArtefactFiles& files, const char* name) {
  const auto bytes = files.at(name).joined();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// `command` on files written to a folder of their own; its exit code.
int shell(const ArtefactFiles& files, const std::string& command) {
  const TempDir dir;
  for (const auto& [name, content] : files) {
    const auto bytes = content.joined();
    write_file(dir.path() / name, bytes.data(), bytes.size());
  }
  return std::system(
      fmt::format("cd {} && {} 2>{}", dir.path().string(), command, "/dev/null").c_str());
}

}  // namespace

TEST_CASE("aot: runs a program, any number of times, by each compiler") {
  const SmallModel m;
  const auto kernels = c_text(m.kernels);
  REQUIRE(kernels);
  for (const std::string& compiler : c_compilers()) {
    const AotModel model(aot_files(m.program, *kernels), "small", "-O2", compiler);
    Floats x, y;
    std::copy(m.x.begin(), m.x.end(), x.v);
    for (int again = 0; again < 2; ++again) {
      std::fill(std::begin(y.v), std::end(y.v), 0.0f);
      REQUIRE(model.run({x.v}, {y.v}) == 0);
      for (std::size_t i = 0; i < SmallModel::n; ++i) REQUIRE(y.v[i] == m.expected(i));
    }
    CHECK(model.run({nullptr}, {y.v}) == -1);
    CHECK(model.run({x.v}, {nullptr}) == -1);
    CHECK(model.run({reinterpret_cast<std::byte*>(x.v) + 1}, {y.v}) == -2);
  }
}

TEST_CASE("aot: the same bytes each time, and no file but the two") {
  const SmallModel m;
  const auto kernels = c_text(m.kernels);
  REQUIRE(kernels);
  const ArtefactFiles once = aot_files(m.program, *kernels), again = aot_files(m.program, *kernels);
  CHECK(once == again);
  CHECK(once.size() == 2);
  CHECK(text_of(once, "model.c").find("/* step 2: product */") != std::string::npos);
  CHECK(text_of(once, "model.h").find("#define TENON_SMALL_POOL_RAM_BYTES 4096u") !=
        std::string::npos);
}

TEST_CASE("aot: constants of every byte value, in a constant pool and in one that is written too") {
  std::vector<std::uint8_t> data(1024);
  for (std::size_t i = 0; i < data.size(); ++i)  // escapes followed by digits, and trigraphs
    data[i] = static_cast<std::uint8_t>(i < 256      ? i
                                        : i % 3 == 0 ? '?'
                                        : i % 3 == 1 ? i / 7
                                                     : '0' + i % 10);
  const TensorType t(DType::u8, Shape{1024});
  for (const auto kind : {ExecPool::Kind::constants, ExecPool::Kind::data}) {
    ExecProgram p;
    p.model = "bytes";
    p.outputs = {io("y", t)};
    p.pools = {{"mem", 1100, 64, kind}};
    p.constants = {{0, 64, make_constant<std::uint8_t>(t, std::span<const std::uint8_t>(data))}};
    p.steps = {copy(at_pool(0, 64, 1024), at_output(0, 1024))};
    const AotModel model(aot_files(p, ""), "bytes");
    std::vector<std::uint8_t> y(1024);
    REQUIRE(model.run({}, {y.data()}) == 0);
    CHECK(y == data);
  }
}

TEST_CASE("aot: branches, tensors of 0 bytes, and results that are one tensor") {
  ExecProgram p;
  p.model = "branches";
  p.inputs = {io("which", {DType::boolean, Shape{}}), io("a"), io("b"),
              io("none", {DType::u8, Shape{0}})};
  p.outputs = {io("y"), io("z"), io("empty", {DType::u8, Shape{0}})};
  p.pools = {{"ram", 16, 64, ExecPool::Kind::data}};
  ExecStep choose{.kind = ExecStep::Kind::branch, .name = "branch", .args = {at_input(0, 1)}};
  choose.then_steps = {copy(at_input(1, 16), at_pool(0, 0, 16))};
  choose.else_steps = {copy(at_input(2, 16), at_pool(0, 0, 16))};
  p.steps = {choose, copy(at_pool(0, 0, 16), at_output(0, 16)),
             copy(at_pool(0, 0, 16), at_output(1, 16)), copy(at_input(3, 0), at_output(2, 0))};
  const AotModel model(aot_files(p, ""), "branches");
  std::vector<std::uint8_t> a(16), b(16), y(16), z(16);
  std::iota(a.begin(), a.end(), 1);
  std::iota(b.begin(), b.end(), 101);
  for (const std::uint8_t which : {1, 0}) {
    REQUIRE(model.run({&which, a.data(), b.data(), nullptr}, {y.data(), z.data(), nullptr}) == 0);
    CHECK(y == (which ? a : b));
    CHECK(z == y);
  }
}

TEST_CASE("aot: a kernel that fails stops the run with its code") {
  SmallModel m;
  m.program.steps.resize(1);
  m.program.steps.push_back(
      copy(at_pool(0, 0, SmallModel::bytes), at_output(0, SmallModel::bytes)));
  m.program.kernels[0].symbol = "fails";
  const std::string kernels =
      "TENON_KERNEL int32_t fails(void* const* buf, const int64_t* dim, void* worker, int64_t "
      "first, int64_t last) {\n"
      "  (void)buf; (void)dim; (void)worker; (void)first; (void)last;\n  return 77;\n}\n";
  const AotModel model(aot_files(m.program, kernels), "small");
  Floats x{}, y{};
  CHECK(model.run({x.v}, {y.v}) == 77);
}

TEST_CASE("aot: memory of one's own is refused by the compiler when it is a byte too small") {
  const SmallModel m;
  const auto kernels = c_text(m.kernels);
  REQUIRE(kernels);
  const ArtefactFiles files = aot_files(m.program, *kernels);
  for (const int less : {0, 1}) {
    const std::string pool = "-DTENON_SMALL_POOL_RAM_";
    const std::string memory = fmt::format(
        "printf 'static _Alignas(64) unsigned char mine[{}];\n#include \"model.c\"\n' > all.c && ",
        SmallModel::bytes - static_cast<std::uint64_t>(less));
    const int code =
        shell(files, fmt::format("{}gcc {} {}ADDRESS=mine '{}CAPACITY=sizeof mine' -c all.c",
                                 memory, strict, pool, pool));
    CHECK((code == 0) == (less == 0));
  }
}

TEST_CASE("aot: planned inputs and outputs are copied, or used in place") {
  ExecProgram p;
  p.model = "planned";
  p.inputs = {io("x")};
  p.outputs = {io("y")};
  p.pools = {{"ram", 32, 64, ExecPool::Kind::data}};
  p.inputs[0].planned = p.outputs[0].planned = true;
  p.inputs[0].place = at_pool(0, 0, 16);
  p.outputs[0].place = at_pool(0, 16, 16);
  p.steps = {copy(at_pool(0, 0, 16), at_pool(0, 16, 16))};
  const ArtefactFiles files = aot_files(p, "");
  const AotModel model(files, "planned");
  std::vector<std::uint8_t> x(16), y(16);
  std::iota(x.begin(), x.end(), 1);
  REQUIRE(model.run({x.data()}, {nullptr}) == 0);
  REQUIRE(model.run({nullptr}, {y.data()}) == 0);  // what the first run left in place
  CHECK(y == x);
  CHECK(text_of(files, "model.h").find("uint8_t* tenon_planned_input_x(void);") !=
        std::string::npos);
}

TEST_CASE("aot: any names make C and C++; two models live in one program") {
  ExecProgram p;
  p.model = "*/ #error \\";
  p.inputs = {io("int"),
              io("x-1"),
              io("x_1"),
              io("\u0434\u043e\u043c"),
              io(std::string(300, 'a')),
              io("X 1"),
              io("*/?"
                 "?/")};
  p.outputs = {io("int"), io("class")};
  p.pools = {{"Ram", 64, 64, ExecPool::Kind::data}, {"ram", 64, 64, ExecPool::Kind::data}};
  p.steps = {copy(at_input(0, 16), at_output(0, 16)), copy(at_input(6, 16), at_pool(1, 0, 16)),
             copy(at_pool(1, 0, 16), at_output(1, 16))};
  p.steps[1].name =
      "*/ #error ?"
      "?/";
  const ArtefactFiles first = aot_files(p, "");
  CHECK(shell(first, fmt::format("gcc {} -c model.c", strict)) == 0);
  CHECK(shell(first, "g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ model.h") == 0);
  const SmallModel m;
  const auto kernels = c_text(m.kernels);
  REQUIRE(kernels);
  const ArtefactFiles a = aot_files(m.program, *kernels, "a"),
                      b = aot_files(m.program, *kernels, "b");
  const std::string main =
      "#include \"a.h\"\n#include \"b.h\"\nint main(void) { return tenon_a_run(0, 0) == "
      "TENON_A_E_NULL && tenon_b_run(0, 0) == TENON_B_E_NULL ? 0 : 1; }\n";
  ArtefactFiles both{{"a.h", a.at("model.h")},
                     {"b.h", b.at("model.h")},
                     {"a.c", a.at("model.c")},
                     {"b.c", b.at("model.c")}};
  both["main.c"] = FileBytes(main);
  CHECK(shell(both, fmt::format("sed -i 's/model.h/a.h/' a.c && sed -i 's/model.h/b.h/' b.c && gcc "
                                "{} *.c -o both && ./both",
                                strict)) == 0);
}

TEST_CASE("aot: the step that runs is there to see, when asked for") {
  const SmallModel m;
  const auto kernels = c_text(m.kernels);
  REQUIRE(kernels);
  ArtefactFiles files = aot_files(m.program, *kernels);
  const std::string main =
      "#include \"model.h\"\nvolatile uint32_t tenon_step = 9;\nstatic _Alignas(64) float x[1024], "
      "y[1024];\n"
      "int main(void) {\n  const tenon_small_inputs in = {x};\n  tenon_small_outputs out = {y};\n"
      "  return tenon_small_run(&in, &out) == 0 && tenon_step == 0 ? 0 : 1;\n}\n";
  files["main.c"] = FileBytes(main);
  CHECK(shell(files, fmt::format("gcc {} -DTENON_STEP_TRACE *.c -o m && ./m", strict)) == 0);
}

TEST_CASE("aot: refuses what it cannot encode") {
  const SmallModel m;
  const Module none{nullptr};
  const auto code = [&](const ExecProgram& p, const std::vector<std::string>& objects) {
    ArtefactFiles out;
    const Status s = aot_executor().emit(p, none, {}, objects, out);
    return s ? 0 : s.errors()[0].code;
  };
  CHECK(code(m.program, {"kernels.so"}) == 6211);
  CHECK(code(m.program, {}) == 6211);
  CHECK(code(m.program, {"a.kernels.c", "b.kernels.c"}) == 6212);
  ExecProgram symbolic = m.program;
  symbolic.inputs[0].type.dims[0] = Dim::symbol(0);
  CHECK(code(symbolic, {"kernels.c"}) == 6201);
  ExecProgram lost = m.program;
  lost.constants[0].offset = SmallModel::bytes;
  ArtefactFiles out{{"kernels.c", {}}};
  const Status s = aot_executor().emit(lost, none, {}, {"kernels.c"}, out);
  REQUIRE(!s);
  CHECK(s.errors()[0].code == 9062);
}

}  // namespace tenon::test
