// Hand-made artefacts, compiled by tenon.llvm, run by the C runtime.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tests/support/guarded_memory.h"
#include "tests/support/runtime.h"

namespace tenon::test {
namespace {

using E = KernelMaker::E;

struct alignas(64) Aligned {
  float v[SmallModel::n];
};

std::vector<float> run_small(const SmallModel& m, const ContextPtr& c) {
  REQUIRE_MESSAGE(tn_set_input(c.get(), 0, TN_F32, 2, SmallModel::dims, m.x.data()) == 0,
                  tn_last_error());
  REQUIRE_MESSAGE(tn_run(c.get()) == 0, tn_last_error());
  const void* y = nullptr;
  REQUIRE(tn_output(c.get(), 0, &y) == 0);
  const auto* f = static_cast<const float*>(y);
  return {f, f + SmallModel::n};
}
std::vector<float> run_small(const SmallModel& m, const ModelPtr& model, std::uint32_t threads,
                             std::uint32_t flags = 0) {
  return run_small(m, context(model, threads, flags));
}

}  // namespace

TEST_CASE(
    "runtime: runs a program; equal bits for any number of threads, guarded, poisoned or not") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  const std::vector<float> one = run_small(m, model, 1);
  for (std::size_t i = 0; i < SmallModel::n; ++i) REQUIRE(one[i] == m.expected(i));
  for (std::uint32_t threads : {2u, 3u, 7u}) CHECK(run_small(m, model, threads) == one);
  for (int flags : {int{TN_GUARD}, int{TN_POISON}, TN_GUARD | TN_POISON | TN_PROFILE})
    CHECK(run_small(m, model, 2, static_cast<std::uint32_t>(flags)) == one);
}

TEST_CASE("runtime: a small image of constants is a copy: its file may change once it is loaded") {
  const std::string pages = read_text("/sys/kernel/mm/transparent_hugepage/enabled");
  if (pages.empty() || pages.find("[never]") != pages.npos) return;  // it is mapped
  SmallModel m;
  m.program.pools[1].bytes = 600 << 10;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  const std::vector<float> before = run_small(m, model, 1);
  std::filesystem::resize_file(dir.path() / "constants.flash.bin", 0);
  const int signal = signal_of([&] {
    if (run_small(m, model, 1) != before || tn_model_verify(model.get()) != 0) _exit(1);
  });
  CHECK(signal == 0);
}

TEST_CASE("runtime: workers of the caller's, inline or in any order, give the same bits") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  const std::vector<float> one = run_small(m, model, 1);
  struct Pool {
    int order = 0;
    std::uint32_t calls = 0, most = 0;
    static void run(void* user, std::uint32_t n, void (*job)(void*, std::uint32_t), void* state) {
      auto& p = *static_cast<Pool*>(user);
      ++p.calls;
      p.most = std::max(p.most, n);
      std::vector<std::thread> threads;
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t w = p.order == 1 ? n - 1 - i : i;
        if (p.order == 2)
          threads.emplace_back(job, state, w);
        else
          job(state, w);
      }
      for (std::thread& t : threads) t.join();
    }
  };
  for (const std::uint32_t flags : {0u, std::uint32_t{TN_DYNAMIC}})
    for (const int order : {0, 1, 2}) {
      Pool pool{.order = order};
      const tn_workers workers{sizeof workers, 5, Pool::run, &pool};
      tn_context_options options{sizeof options, 0, flags, &workers};
      tn_context* made = nullptr;
      REQUIRE_MESSAGE(tn_context_create(model.get(), &options, &made) == 0, tn_last_error());
      const ContextPtr c(made);
      CHECK(tn_context_threads(made) == 5);
      CHECK(run_small(m, c) == one);
      CHECK(pool.calls > 0);
      CHECK(pool.most == 5);
    }
  tn_workers workers{sizeof workers, 2, Pool::run, nullptr};
  const auto refused = [&](std::uint32_t threads) {
    const tn_context_options options{sizeof options, threads, 0, &workers};
    tn_context* made = nullptr;
    return tn_context_create(model.get(), &options, &made) == TN_RT_ARGUMENT &&
           std::string(tn_last_error()).find("workers") != std::string::npos;
  };
  CHECK(refused(2));
  workers.workers = 0;
  CHECK(refused(0));
  workers.workers = 257;
  CHECK(refused(0));
  workers = {sizeof workers, 2, nullptr, nullptr};
  CHECK(refused(0));
  workers = {sizeof(std::size_t), 2, Pool::run, nullptr};
  CHECK(refused(0));
}

TEST_CASE("runtime: workers that sleep, wake late or come too late give the same bits") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  const std::vector<float> one = run_small(m, model, 1);
  const auto c = context(model, 7);
  for (int run = 0; run < 2000; ++run) {
    if (run % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    REQUIRE(run_small(m, c) == one);
  }
}

TEST_CASE("runtime: parts taken as workers become free give the same bits") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  const std::vector<float> one = run_small(m, model, 1);
  for (std::uint32_t threads : {1u, 2u, 3u, 7u})
    CHECK(run_small(m, model, threads, TN_DYNAMIC) == one);
}

TEST_CASE("runtime: says what a model is") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  CHECK(std::string(tn_model_name(model.get())) == "small");
  CHECK(tn_model_json(model.get()) == read_text(dir.path() / "program.json"));
  REQUIRE(tn_model_inputs(model.get()) == 1);
  tn_tensor_info t{.struct_size = sizeof t};
  REQUIRE(tn_model_input(model.get(), 0, &t) == 0);
  CHECK(std::string(t.name) == "x");
  CHECK(t.dtype == TN_F32);
  CHECK(t.rank == 2);
  CHECK(t.dims[1] == 256);
  CHECK(t.bytes == SmallModel::bytes);
  CHECK(t.align == 64);
  CHECK(t.planned == 0);
  tn_pool_info p{.struct_size = sizeof p};
  REQUIRE(tn_model_pool(model.get(), 1, &p) == 0);
  CHECK(std::string(p.kind) == "constants");
  CHECK(p.bytes == SmallModel::bytes);
  tn_step_info s{.struct_size = sizeof s};
  REQUIRE(tn_model_step(model.get(), 1, &s) == 0);
  CHECK(std::string(s.name) == "product");
  CHECK(std::string(s.kernel) == "mul");
  CHECK(tn_model_step(model.get(), 2, &s) == TN_RT_NAME);
  // A caller with an older, shorter struct gets what it knows.
  tn_tensor_info old{.struct_size = offsetof(tn_tensor_info, bytes)};
  old.bytes = 7;
  REQUIRE(tn_model_input(model.get(), 0, &old) == 0);
  CHECK(old.rank == 2);
  CHECK(old.bytes == 7);
  std::uint32_t i = 9;
  CHECK(tn_find_output(model.get(), "y", &i) == 0);
  CHECK(i == 0);
  CHECK(tn_find_input(model.get(), "z", &i) == TN_RT_NAME);
  CHECK(std::string(tn_last_error()).find("'x'") != std::string::npos);
}

TEST_CASE(
    "runtime: zero-copy inputs and outputs are read and written in place, and can be bound again") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  const auto c = context(model);
  auto x = std::make_unique<Aligned>(), y = std::make_unique<Aligned>(),
       z = std::make_unique<Aligned>();
  std::memcpy(x->v, m.x.data(), SmallModel::bytes);
  REQUIRE(tn_bind_input(c.get(), 0, TN_F32, 2, SmallModel::dims, x->v) == 0);
  REQUIRE(tn_bind_output(c.get(), 0, TN_F32, 2, SmallModel::dims, y->v) == 0);
  REQUIRE(tn_run(c.get()) == 0);
  CHECK(y->v[5] == m.expected(5));
  x->v[5] = 2;  // seen by the next run: nothing was copied
  REQUIRE(tn_bind_output(c.get(), 0, TN_F32, 2, SmallModel::dims, z->v) == 0);
  REQUIRE(tn_run(c.get()) == 0);
  CHECK(y->v[5] == m.expected(5));
  CHECK(z->v[5] == (2 + m.w[5]) * 2);
  const void* out = nullptr;
  REQUIRE(tn_output(c.get(), 0, &out) == 0);
  CHECK(out == z->v);
  REQUIRE(tn_bind_output(c.get(), 0, TN_F32, 2, SmallModel::dims, nullptr) ==
          0);  // back to its own
  void* in = nullptr;
  REQUIRE(tn_input_memory(c.get(), 0, &in) == 0);
  CHECK(in != x->v);
  std::memcpy(in, m.x.data(), SmallModel::bytes);
  REQUIRE(tn_run(c.get()) == 0);
  REQUIRE(tn_output(c.get(), 0, &out) == 0);
  CHECK(out != z->v);
  CHECK(static_cast<const float*>(out)[9] == m.expected(9));
}

TEST_CASE("runtime: wrong tensors and pointers are refused by name") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  const auto c = context(model);
  const auto says = [](const char* what) {
    return std::string(tn_last_error()).find(what) != std::string::npos;
  };
  auto x = std::make_unique<Aligned>();
  const std::int64_t other[] = {4, 255}, *dims = SmallModel::dims;
  CHECK(tn_run(c.get()) == TN_RT_NOT_SET);
  CHECK(says("'x'"));
  CHECK(tn_set_input(c.get(), 1, TN_F32, 2, dims, x->v) == TN_RT_NAME);
  CHECK(tn_set_input(c.get(), 0, TN_F64, 2, dims, x->v) == TN_RT_TENSOR);
  CHECK(says("dtype"));
  CHECK(tn_set_input(c.get(), 0, TN_F32, 1, dims, x->v) == TN_RT_TENSOR);
  CHECK(says("rank"));
  CHECK(tn_set_input(c.get(), 0, TN_F32, 2, other, x->v) == TN_RT_TENSOR);
  CHECK(says("f32[4, 256], got f32[4, 255]"));
  CHECK(tn_set_input(c.get(), 0, TN_F32, 2, nullptr, x->v) == TN_RT_POINTER);
  CHECK(tn_set_input(c.get(), 0, TN_F32, 2, dims, nullptr) == TN_RT_POINTER);
  CHECK(tn_bind_input(c.get(), 0, TN_F32, 2, dims, x->v + 1) == TN_RT_POINTER);
  CHECK(says("64"));
  CHECK(tn_bind_output(c.get(), 0, TN_F32, 2, dims, x->v + 1) == TN_RT_POINTER);
  REQUIRE(tn_bind_input(c.get(), 0, TN_F32, 2, dims, x->v) == 0);
  REQUIRE(tn_bind_output(c.get(), 0, TN_F32, 2, dims, x->v) == 0);
  CHECK(tn_run(c.get()) == TN_RT_POINTER);
  CHECK(says("overlaps"));
  const std::uint64_t* ns = nullptr;
  std::uint32_t n = 0;
  CHECK(tn_step_times(c.get(), &ns, &n) == TN_RT_ARGUMENT);
  CHECK(tn_run(nullptr) == TN_RT_ARGUMENT);
  CHECK(tn_model_load(nullptr, nullptr) == TN_RT_ARGUMENT);
  const tn_context_options many{sizeof many, 1000, 0}, flags{sizeof flags, 1, 64};
  tn_context* none = nullptr;
  CHECK(tn_context_create(model.get(), &many, &none) == TN_RT_ARGUMENT);
  CHECK(tn_context_create(model.get(), &flags, &none) == TN_RT_ARGUMENT);
  CHECK(none == nullptr);
}

TEST_CASE("runtime: contexts share a model, outlive its handle, and run at once") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  auto model = load(dir.path());
  const auto a = context(model, 2), b = context(model, 2);
  model.reset();
  std::vector<std::thread> threads;
  for (tn_context* c : {a.get(), b.get()})
    threads.emplace_back([&m, c] {
      for (int n = 0; n < 50; ++n)
        if (tn_set_input(c, 0, TN_F32, 2, SmallModel::dims, m.x.data()) || tn_run(c)) return;
    });
  for (std::thread& t : threads) t.join();
  for (tn_context* c : {a.get(), b.get()}) {
    const void* y = nullptr;
    REQUIRE(tn_output(c, 0, &y) == 0);
    CHECK(static_cast<const float*>(y)[100] == m.expected(100));
  }
}

TEST_CASE("runtime: planned inputs and outputs stand in pools, are consumed, and cannot be bound") {
  SmallModel m;
  const auto bytes = SmallModel::bytes;
  m.program.pools[0].bytes = 3 * bytes;
  m.program.inputs[0].planned = m.program.outputs[0].planned = true;
  m.program.inputs[0].place = at_pool(0, bytes, bytes);
  m.program.outputs[0].place = at_pool(0, 2 * bytes, bytes);
  m.program.steps[0].args[0] = m.program.steps[1].args[1] = at_pool(0, bytes, bytes);
  m.program.steps[1].args[2] = at_pool(0, 2 * bytes, bytes);
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  const auto c = context(model, 1, TN_POISON | TN_GUARD);
  REQUIRE(tn_set_input(c.get(), 0, TN_F32, 2, SmallModel::dims, m.x.data()) == 0);
  REQUIRE(tn_run(c.get()) == 0);
  const void* y = nullptr;
  REQUIRE(tn_output(c.get(), 0, &y) == 0);
  CHECK(static_cast<const float*>(y)[77] == m.expected(77));
  CHECK(tn_run(c.get()) == TN_RT_NOT_SET);
  auto x = std::make_unique<Aligned>();
  CHECK(tn_bind_input(c.get(), 0, TN_F32, 2, SmallModel::dims, x->v) == TN_RT_PLANNED);
  CHECK(tn_bind_output(c.get(), 0, TN_F32, 2, SmallModel::dims, x->v) == TN_RT_PLANNED);
}

TEST_CASE(
    "runtime: branches take their arm, copies copy, a constant stands in a writable pool, times "
    "are kept") {
  SmallModel m;
  const auto bytes = SmallModel::bytes;
  const TensorType flag(DType::boolean, Shape{});
  m.program.inputs.push_back({.name = "flag", .type = flag, .align = 1});
  m.program.pools[1] = {"flash", 3 * bytes, 64, ExecPool::Kind::data};  // image copied in
  ExecStep copy{.kind = ExecStep::Kind::copy,
                .name = "keep",
                .args = {at_input(0, bytes), at_output(0, bytes)}};
  ExecStep branch{.kind = ExecStep::Kind::branch,
                  .name = "if",
                  .args = {at_input(1, 1)},
                  .then_steps = m.program.steps,
                  .else_steps = {copy}};
  m.program.steps = {branch};
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  REQUIRE(tn_model_steps(model.get()) == 4);
  for (std::uint8_t on : {1, 0}) {  // the arms are steps 1 and 2, and 3
    void* condition[] = {&on};
    std::uint32_t next = 0;
    REQUIRE(tn_run_step(model.get(), 0, 0, condition, &next) == 0);
    CHECK(next == (on ? 1u : 3u));
  }
  const auto c = context(model, 2, TN_PROFILE | TN_POISON);
  for (std::uint8_t on : {1, 0, 1}) {
    REQUIRE(tn_set_input(c.get(), 0, TN_F32, 2, SmallModel::dims, m.x.data()) == 0);
    REQUIRE(tn_set_input(c.get(), 1, TN_BOOL, 0, nullptr, &on) == 0);
    REQUIRE_MESSAGE(tn_run(c.get()) == 0, tn_last_error());
    const void* y = nullptr;
    REQUIRE(tn_output(c.get(), 0, &y) == 0);
    CHECK(static_cast<const float*>(y)[3] == (on ? m.expected(3) : m.x[3]));
    const std::uint64_t* ns = nullptr;
    std::uint32_t n = 0;
    REQUIRE(tn_step_times(c.get(), &ns, &n) == 0);
    REQUIRE(n == 4);
    CHECK((ns[1] > 0) == (on == 1));
    CHECK((ns[2] > 0) == (on == 1));
    CHECK((ns[3] > 0) == (on == 0));
  }
}

/// y = x + n * w: what it carries is the output; `sum` writes over it in the body.
struct LoopModel : SmallModel {
  LoopModel() {
    const TensorType count(DType::i64, Shape{});
    program.inputs.push_back({.name = "n", .type = count, .align = 8});
    program.pools[0] = {"ram", bytes + 8, 64, ExecPool::Kind::data};
    const ArgPlace carried = at_output(0, bytes), made = at_pool(0, 0, bytes);
    program.steps = {
        {.kind = ExecStep::Kind::loop,
         .name = "loop",
         .args = {at_input(1, 8), at_pool(0, bytes, 8), at_input(0, bytes), carried, made},
         .then_steps = {call("sum", 0, {carried, at_pool(1, 0, bytes), made})}}};
  }
};

TEST_CASE("runtime: loops run their body as often as an input says, times add up") {
  const LoopModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  REQUIRE(tn_model_steps(model.get()) == 2);
  tn_step_info info{sizeof info, nullptr, nullptr, nullptr, 0};
  REQUIRE(tn_model_step(model.get(), 0, &info) == 0);
  CHECK(std::string(info.kind) == "loop");
  const auto c = context(model, 2, TN_PROFILE | TN_POISON | TN_GUARD);
  for (const std::int64_t n : {3, 0, 1, -5, 40}) {
    REQUIRE(tn_set_input(c.get(), 0, TN_F32, 2, SmallModel::dims, m.x.data()) == 0);
    REQUIRE(tn_set_input(c.get(), 1, TN_I64, 0, nullptr, &n) == 0);
    REQUIRE_MESSAGE(tn_run(c.get()) == 0, tn_last_error());
    const void* y = nullptr;
    REQUIRE(tn_output(c.get(), 0, &y) == 0);
    float want = m.x[9];
    for (std::int64_t i = 0; i < n; ++i) want += m.w[9];
    CHECK(static_cast<const float*>(y)[9] == want);
    const std::uint64_t* ns = nullptr;
    std::uint32_t steps = 0;
    REQUIRE(tn_step_times(c.get(), &ns, &steps) == 0);
    REQUIRE(steps == 2);
    CHECK((ns[1] > 0) == (n > 0));
  }
}

TEST_CASE("runtime: the steps of a loop, one by one, come back to the loop") {
  const LoopModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  tn_step_info info{};
  info.struct_size = sizeof info;
  REQUIRE(tn_model_step(model.get(), 0, &info) == 0);
  CHECK(info.n_args == 5);
  CHECK(info.past == 2);
  tn_arg_info a{.struct_size = sizeof a};
  for (std::uint32_t k = 0; k < 5; ++k) {
    REQUIRE(tn_model_step_arg(model.get(), 0, k, &a) == 0);
    CHECK(a.written == (k == 1 || k == 3));  // the number of the iteration, what it carries
  }
  std::int64_t count = 2, i = 7;
  auto x = std::make_unique<Aligned>(), w = std::make_unique<Aligned>(),
       carried = std::make_unique<Aligned>(), made = std::make_unique<Aligned>();
  std::memcpy(x->v, m.x.data(), SmallModel::bytes);
  std::memcpy(w->v, m.w.data(), SmallModel::bytes);
  void* loop[] = {&count, &i, x->v, carried->v, made->v};
  void* body[] = {carried->v, w->v, made->v};
  std::uint32_t at = 0, before = 0;
  std::vector<std::uint32_t> way;
  for (bool first = true; at < 2; first = false) {
    const bool turn = !first && at <= before;
    before = at;
    way.push_back(at);
    REQUIRE(tn_run_step(model.get(), at, turn, at == 0 ? loop : body, &at) == 0);
  }
  CHECK(way == std::vector<std::uint32_t>{0, 1, 0, 1, 0});
  CHECK(carried->v[9] == m.x[9] + m.w[9] + m.w[9]);
  CHECK(i == 2);
}

TEST_CASE("runtime: loops whose places are wrong are refused") {
  const auto refused = [](auto change, const std::string& what) {
    LoopModel m;
    change(m.program.steps[0]);
    const TempDir dir;
    write_artefact(dir.path(), m.program, m.kernels);
    CHECK(load_code(dir.path()) == TN_RT_PROGRAM);
    CHECK_MESSAGE(says(what), tn_last_error());
  };
  const auto bytes = SmallModel::bytes;
  refused([](ExecStep& s) { s.args.pop_back(); }, "4 places instead of 2 + 3 * n");
  refused([](ExecStep& s) { s.args.resize(1); }, "1 places instead of 2 + 3 * n");
  refused([](ExecStep& s) { s.args[0].bytes = 4; }, "8 bytes each");
  refused([](ExecStep& s) { s.args[1] = at_input(1, 8); }, "writes input 'n'");
  refused([](ExecStep& s) { s.args[1] = at_pool(1, 0, 8); }, "which holds constants");
  refused([](ExecStep& s) { s.args[1].offset += 8; }, "");
  refused([](ExecStep& s) { s.args[4].bytes -= 4; }, "one size");
  refused([&](ExecStep& s) { s.args[3] = at_input(0, bytes); }, "writes input 'x'");
  refused(
      [](ExecStep& s) {
        for (int depth = 0; depth < 70; ++depth) s = ExecStep{s.kind, s.name, 0, s.args, {}, {s}};
      },
      "nest deeper than 64");
}

TEST_CASE("runtime: state begins as zeros, is kept from run to run, and can be set") {
  SmallModel m;
  const auto bytes = SmallModel::bytes;
  const TensorType t(DType::f32, Shape{4, SmallModel::n / 4});
  const ArgPlace state = at_pool(0, 0, bytes);
  m.program.inputs.push_back(
      {.name = "h", .type = t, .planned = true, .place = state, .state = true});
  m.program.outputs = {{.name = "h'", .type = t, .planned = true, .place = state}};
  m.program.pools[0].bytes = 2 * bytes;
  m.program.steps = {
      SmallModel::call("sum", 0, {state, at_input(0, bytes), at_pool(0, bytes, bytes)}),
      {.kind = ExecStep::Kind::copy, .name = "keep", .args = {at_pool(0, bytes, bytes), state}}};
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  tn_tensor_info info{};
  info.struct_size = sizeof info;
  REQUIRE(tn_model_input(model.get(), 1, &info) == 0);
  CHECK(info.state == 1);
  for (const unsigned flags : {0u, static_cast<unsigned>(TN_POISON | TN_GUARD)}) {
    const auto c = context(model, 1, flags);
    const auto h = [&](float want) {
      const void* y = nullptr;
      REQUIRE_MESSAGE(tn_run(c.get()) == 0, tn_last_error());
      REQUIRE(tn_output(c.get(), 0, &y) == 0);
      CHECK(static_cast<const float*>(y)[9] == want);
    };
    REQUIRE(tn_set_input(c.get(), 0, TN_F32, 2, SmallModel::dims, m.x.data()) == 0);
    h(m.x[9]);
    h(m.x[9] + m.x[9]);
    REQUIRE(tn_set_input(c.get(), 1, TN_F32, 2, SmallModel::dims, m.w.data()) == 0);
    h(m.w[9] + m.x[9]);
    h(m.w[9] + m.x[9] + m.x[9]);
    const auto other = context(model, 1, flags);  // contexts have their own
    REQUIRE(tn_set_input(other.get(), 0, TN_F32, 2, SmallModel::dims, m.x.data()) == 0);
    REQUIRE(tn_run(other.get()) == 0);
    const void* y = nullptr;
    REQUIRE(tn_output(other.get(), 0, &y) == 0);
    CHECK(static_cast<const float*>(y)[9] == m.x[9]);
  }
}

TEST_CASE("runtime: steps one by one, in memory of the caller's, give what a run gives") {
  SmallModel m;
  m.program.steps[0].values = {7, 8, 9};
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto model = load(dir.path());
  tn_step_info s{.struct_size = sizeof s};
  REQUIRE(tn_model_step(model.get(), 0, &s) == 0);
  CHECK(s.n_args == 3);
  CHECK(s.past == 0);
  tn_arg_info a{.struct_size = sizeof a};
  REQUIRE(tn_model_step_arg(model.get(), 0, 1, &a) == 0);
  CHECK(a.base == TN_IN_POOL);
  CHECK(a.index == 1);
  CHECK(a.bytes == SmallModel::bytes);
  CHECK_FALSE(a.written);
  CHECK(a.value == 8);
  REQUIRE(tn_model_step_arg(model.get(), 1, 2, &a) == 0);
  CHECK(a.base == TN_IN_OUTPUT);
  CHECK(a.written);
  CHECK(a.value == UINT32_MAX);
  CHECK(tn_model_step_arg(model.get(), 1, 3, &a) == TN_RT_NAME);
  std::uint32_t next = 0;
  CHECK(tn_run_step(model.get(), 2, 0, nullptr, &next) == TN_RT_NAME);
  CHECK(tn_run_step(model.get(), 0, 0, nullptr, &next) == TN_RT_ARGUMENT);
  tn_pool_info flash{.struct_size = sizeof flash};
  REQUIRE(tn_model_pool(model.get(), 1, &flash) == 0);
  REQUIRE(flash.image_bytes == SmallModel::bytes);
  CHECK(std::memcmp(flash.image, m.w.data(), SmallModel::bytes) == 0);
  auto x = std::make_unique<Aligned>(), sum = std::make_unique<Aligned>(),
       w = std::make_unique<Aligned>(), y = std::make_unique<Aligned>();
  std::memcpy(x->v, m.x.data(), SmallModel::bytes);
  std::memcpy(w->v, flash.image, SmallModel::bytes);
  void* first[] = {x->v, w->v, sum->v};
  void* second[] = {sum->v, x->v, y->v};
  REQUIRE(tn_run_step(model.get(), 0, 0, first, &next) == 0);
  CHECK(next == 1);
  REQUIRE(tn_run_step(model.get(), 1, 0, second, &next) == 0);
  CHECK(next == 2);
  for (std::size_t i = 0; i < SmallModel::n; ++i) REQUIRE(y->v[i] == m.expected(i));
}

TEST_CASE("runtime: worker scratch is one per worker") {
  KernelMaker k("scratch");
  const std::uint64_t rows = 64;
  const auto in = k.input(DType::f32, rows * 16), out = k.output(DType::f32, rows * 16);
  const auto tmp = k.buffer("tmp", DType::f32, 16, tir::Scope::worker, 64);
  k.kernel().worker_bytes = 64;
  k.for_chunk(1, [&](E i) {
    const E at = k.op(ScalarOp::mul, {i, k.imm(16)});
    k.store(tmp, k.imm(0), k.load(in, at, 16));
    const auto n = k.variable("n", {DType::i64, 1});
    k.loop(n, k.imm(0), k.imm(200), 1, [&] {  // long enough for workers to meet
      k.store(tmp, k.imm(0), k.op(ScalarOp::add, {k.load(tmp, k.imm(0), 16), k.load(in, at, 16)}));
    });
    k.store(out, at, k.load(tmp, k.imm(0), 16));
  });
  const tir::Kernel kernel = k.done(rows);
  const TensorType t(DType::f32, Shape{rows * 16});
  ExecProgram p;
  p.inputs = {{.name = "x", .type = t}};
  p.outputs = {{.name = "y", .type = t}};
  p.pools = {{"scratch", 128, 64, ExecPool::Kind::worker}};
  p.kernels = {exec_kernel(kernel)};
  p.kernels[0].worker_offset = 64;
  p.steps = {SmallModel::call("s", 0, {at_input(0, rows * 64), at_output(0, rows * 64)})};
  const TempDir dir;
  write_artefact(dir.path(), p, {kernel});
  const auto model = load(dir.path());
  std::vector<float> x(rows * 16);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97);
  const std::int64_t dims[] = {rows * 16};
  for (std::uint32_t threads : {1u, 2u, 5u}) {
    const auto c = context(model, threads);
    for (int n = 0; n < 20; ++n) {
      REQUIRE(tn_set_input(c.get(), 0, TN_F32, 1, dims, x.data()) == 0);
      REQUIRE(tn_run(c.get()) == 0);
      const void* y = nullptr;
      REQUIRE(tn_output(c.get(), 0, &y) == 0);
      for (std::size_t i = 0; i < x.size(); ++i)
        REQUIRE(static_cast<const float*>(y)[i] == 201 * x[i]);
    }
  }
}

TEST_CASE("runtime: the example, a C99 program, runs an artefact and says why it cannot") {
  const SmallModel m;
  const TempDir dir;
  write_artefact(dir.path(), m.program, m.kernels);
  const auto example = [](const std::filesystem::path& folder) {
    std::FILE* p =
        popen((std::string(TENON_BUILD_DIR "/bin/tenon-example-run ") + folder.string() + " 2>&1")
                  .c_str(),
              "r");
    REQUIRE(bool(p));
    char text[400] = {};
    const std::size_t n = std::fread(text, 1, sizeof text - 1, p);
    return std::pair(std::string(text, n), pclose(p));
  };
  CHECK(example(dir.path()) == std::pair(std::string("y: 4096 bytes, first 0\n"), 0));
  const auto [text, status] = example(dir.path() / "nowhere");
  CHECK(status != 0);
  CHECK(text.find("No such file") != std::string::npos);
}

}  // namespace tenon::test
