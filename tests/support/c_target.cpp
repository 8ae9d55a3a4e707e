#include "tests/support/c_target.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "tests/support/artefact.h"
#include "tests/support/registration.h"

namespace tenon::test {

const TargetInfo& c_target() {
  static const TargetInfo info = registration_of("tenon-c.so").targets.at(0);
  return info;
}

TargetFacts c_facts(const std::string& cpu) {
  const auto f = c_target().facts("device", {OptionValue{.key = "cpu", .items = {cpu}}});
  REQUIRE(f);
  return *f;
}

Result<std::string> c_text(const std::vector<tir::Kernel>& kernels, const TargetFacts& facts) {
  std::vector<const tir::Kernel*> list;
  for (const tir::Kernel& k : kernels) list.push_back(&k);
  auto bytes = c_target().compile(list, facts, 1);
  if (!bytes) return bytes.errors();
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

std::shared_ptr<void> load_c(const std::string& compiler, const std::vector<std::string>& files,
                             const std::string& flags) {
  const TempDir dir;
  const auto object = dir.path() / "object.so", said = dir.path() / "said.txt";
  const std::string command =
      fmt::format("{} {} {} -shared -fPIC -o {} {} >{} 2>&1", compiler, strict, flags,
                  object.string(), fmt::join(files, " "), said.string());
  const int code = std::system(command.c_str());
  REQUIRE_MESSAGE(code == 0, command, "\n", read_text(said).substr(0, 4000));
  void* h = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(h != nullptr, dlerror());
  return {h, [](void* p) { dlclose(p); }};
}

std::vector<std::string> c_compilers() {
  std::vector<std::string> out{"gcc"};
  if (std::system("command -v clang >/dev/null 2>&1") == 0) out.emplace_back("clang");
  return out;
}

}  // namespace tenon::test
