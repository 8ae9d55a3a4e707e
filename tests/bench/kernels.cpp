#include "tests/bench/kernels.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tenon/plugin.h"

namespace tenon::bench {

namespace {

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  std::exit(1);
}

template <class T>
T accepted(Result<T> r) {
  if (!r) fail(r.errors()[0].what);
  return std::move(*r);
}

Registration load(const char* name) {
  void* h = dlopen(fmt::format("{}/lib/tenon/abi-0/{}", TENON_BUILD_DIR, name).c_str(),
                   RTLD_NOW | RTLD_LOCAL);
  if (!h) fail(dlerror());
  Registration r;
  reinterpret_cast<void (*)(Registration*)>(dlsym(h, "tenon_plugin_entry"))(&r);
  return r;
}

void* open_object(const std::vector<std::byte>& object, const char* dump) {
  std::string path =
      dump ? dump
           : (std::filesystem::temp_directory_path() / "tenon-kernels-bench-XXXXXX").string();
  if (!dump) close(mkstemp(path.data()));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(object.data()),
             static_cast<std::streamsize>(object.size()));
  void* h = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!h) fail(dlerror());
  if (!dump) std::remove(path.c_str());
  return h;
}

std::string loops_of(const Schedule& s) {
  std::string text = s.family + ":";
  for (const LoopSpec& x : s.stages.back().loops)
    text += fmt::format(" {}/{}{}", x.axis, x.step, "spuv"[static_cast<int>(x.kind)]);
  return text;
}

}  // namespace

std::vector<Built> build(const std::vector<Layer>& layers, const char* dump) {
  const Registration te = load("tenon-te.so"), llvm = load("tenon-llvm.so");
  const TargetFacts facts =
      accepted(llvm.targets[0].facts("host", {OptionValue{.key = "cpu", .items = {"native"}}}));
  const LoweringInfo& lowering = te.lowerings[0];
  std::vector<Built> all;
  for (const Layer& l : layers) {
    const te::Compute c = accepted(lowering.compute(l.compute, facts, {}));
    const Schedule s = accepted(lowering.schedule(c, facts, {}));
    all.push_back({.kernel = accepted(lowering.kernel(c, s, facts, {})), .loops = loops_of(s)});
    all.back().kernel.symbol = fmt::format("k{}", all.size());
  }
  std::vector<const tir::Kernel*> list;
  for (const Built& b : all) list.push_back(&b.kernel);
  void* object = open_object(accepted(llvm.targets[0].compile(list, facts, 1)), dump);
  for (Built& b : all) b.call = reinterpret_cast<KernelFn>(dlsym(object, b.kernel.symbol.c_str()));
  return all;
}

void fill(float* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<float>(i % 13) * 0.25f - 1.0f;
}

Arena::Arena(const tir::Kernel& k) {
  for (const tir::Buffer& b : k.buffers) {
    if (b.scope == tir::Scope::worker) continue;
    const std::size_t n = (b.elements * bits(b.dtype) / 8 + 63) / 64 * 64;
    buffers.push_back(std::aligned_alloc(64, n + 64));
    fill(static_cast<float*>(buffers.back()), n / 4);
  }
  worker = std::aligned_alloc(64, (k.worker_bytes + 127) / 64 * 64);
}

Arena::~Arena() {
  for (void* p : buffers) std::free(p);
  std::free(worker);
}

}  // namespace tenon::bench
