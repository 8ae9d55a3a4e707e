// Owners of the runtime's handles, and small programs to run with it.
#ifndef TENON_TESTS_SUPPORT_RUNTIME_H
#define TENON_TESTS_SUPPORT_RUNTIME_H

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tenon/c/runtime.h"
#include "tests/support/artefact.h"

namespace tenon::test {

struct FreeModel {
  void operator()(tn_model* m) const { tn_model_free(m); }
};
struct FreeContext {
  void operator()(tn_context* c) const { tn_context_free(c); }
};
using ModelPtr = std::unique_ptr<tn_model, FreeModel>;
using ContextPtr = std::unique_ptr<tn_context, FreeContext>;

inline ModelPtr load(const std::filesystem::path& folder) {
  tn_model* m = nullptr;
  const int code = tn_model_load(folder.c_str(), &m);
  REQUIRE_MESSAGE(code == 0, tn_last_error());
  return ModelPtr(m);
}
inline ContextPtr context(const ModelPtr& m, std::uint32_t threads = 1, std::uint32_t flags = 0) {
  const tn_context_options o{sizeof o, threads, flags};
  tn_context* c = nullptr;
  const int code = tn_context_create(m.get(), &o, &c);
  REQUIRE_MESSAGE(code == 0, tn_last_error());
  return ContextPtr(c);
}

/// How `f` ends in a child process: 0 well, a signal, or minus the code that it exits with.
template <class F>
int signal_of(F f) {
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    for (int s : {SIGSEGV, SIGBUS})
      std::signal(s, SIG_DFL);  // the test runner's handlers would report
    f();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

inline int load_code(const std::filesystem::path& folder) {
  tn_model* m = nullptr;
  const int code = tn_model_load(folder.c_str(), &m);
  CHECK((m == nullptr) == (code != 0));
  tn_model_free(m);
  return code;
}

/// Of the last failure.
inline bool says(const std::string& what) {
  return std::string(tn_last_error()).find(what) != std::string::npos;
}

inline ArgPlace at_pool(std::uint32_t pool, std::uint64_t offset, std::uint64_t bytes) {
  return {ArgPlace::Kind::pool, pool, offset, bytes};
}
inline ArgPlace at_input(std::uint32_t i, std::uint64_t bytes) {
  return {ArgPlace::Kind::input, i, 0, bytes};
}
inline ArgPlace at_output(std::uint32_t i, std::uint64_t bytes) {
  return {ArgPlace::Kind::output, i, 0, bytes};
}

/// out[i] = a[i] op b[i] for `n` floats; the range is counted in rows of 16.
inline tir::Kernel binary_kernel(const std::string& symbol, ScalarOp op, std::uint64_t n,
                                 std::uint64_t align = 1) {
  KernelMaker m(symbol);
  const auto a = m.buffer("a", DType::f32, n, tir::Scope::input, align),
             b = m.buffer("b", DType::f32, n, tir::Scope::input, align);
  const auto out = m.buffer("out", DType::f32, n, tir::Scope::output, align);
  m.for_chunk(1, [&](KernelMaker::E i) {
    const auto at = m.op(ScalarOp::mul, {i, m.imm(16)});
    m.store(out, at, m.op(op, {m.load(a, at, 16), m.load(b, at, 16)}));
  });
  return m.done(static_cast<std::int64_t>(n / 16));
}

/// y = (x + w) * x, the sum in pool 0, w in pool 1 (constants): two steps over `n` floats.
struct SmallModel {
  static constexpr std::uint64_t n = 1024, bytes = n * 4;
  ExecProgram program;
  std::vector<tir::Kernel> kernels;
  std::vector<float> w = std::vector<float>(n), x = std::vector<float>(n);

  explicit SmallModel(std::uint64_t align = 64) {
    for (std::size_t i = 0; i < n; ++i)
      w[i] = 0.25f * static_cast<float>(i), x[i] = 1.0f / static_cast<float>(i + 1);
    kernels = {binary_kernel("add", ScalarOp::add, n, align),
               binary_kernel("mul", ScalarOp::mul, n, align)};
    const TensorType t(DType::f32, Shape{4, n / 4});
    program.model = "small";
    program.inputs = {{.name = "x", .type = t}};
    program.outputs = {{.name = "y", .type = t}};
    program.pools = {{"ram", bytes, align, ExecPool::Kind::data},
                     {"flash", bytes, align, ExecPool::Kind::constants}};
    program.constants = {{1, 0, make_constant<float>(t, std::span<const float>(w))}};
    for (const tir::Kernel& k : kernels) program.kernels.push_back(exec_kernel(k));
    program.steps = {
        call("sum", 0, {at_input(0, bytes), at_pool(1, 0, bytes), at_pool(0, 0, bytes)}),
        call("product", 1, {at_pool(0, 0, bytes), at_input(0, bytes), at_output(0, bytes)})};
  }
  static ExecStep call(std::string name, std::uint32_t kernel, std::vector<ArgPlace> args) {
    return {.kind = ExecStep::Kind::call,
            .name = std::move(name),
            .kernel = kernel,
            .args = std::move(args)};
  }
  float expected(std::size_t i) const { return (x[i] + w[i]) * x[i]; }
  static constexpr std::int64_t dims[] = {4, n / 4};
};

}  // namespace tenon::test

#endif
