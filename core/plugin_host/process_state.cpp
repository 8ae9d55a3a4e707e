#include "core/plugin_host/process_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <clocale>
#include <filesystem>
#include <system_error>

namespace tenon::plugin_host {
namespace {

struct Fault {
  int number;
  const char* name;
};
constexpr std::array<Fault, 4> kFaults{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"}}};

std::string locale() {
  const char* l = std::setlocale(LC_ALL, nullptr);
  return l ? l : "";
}

std::string cwd() {
  std::error_code ec;
  return std::filesystem::current_path(ec).string();
}

#if defined(__x86_64__)
constexpr std::uint64_t kFpuSticky = 0x3f;  // exception flags: arithmetic may set them
std::uint64_t fpu() { return __builtin_ia32_stmxcsr() & ~kFpuSticky; }
void set_fpu(std::uint64_t v) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(v)); }
std::uint16_t x87() {
  std::uint16_t v = 0;
  asm volatile("fnstcw %0" : "=m"(v));
  return v;
}
void set_x87(std::uint16_t v) { asm volatile("fldcw %0" : : "m"(v)); }
#elif defined(__aarch64__)
std::uint64_t fpu() {
  std::uint64_t v = 0;
  asm volatile("mrs %0, fpcr" : "=r"(v));
  return v;
}
void set_fpu(std::uint64_t v) { asm volatile("msr fpcr, %0" : : "r"(v)); }
std::uint16_t x87() { return 0; }
void set_x87(std::uint16_t) {}
#else
std::uint64_t fpu() { return 0; }
void set_fpu(std::uint64_t) {}
std::uint16_t x87() { return 0; }
void set_x87(std::uint16_t) {}
#endif

}  // namespace

ProcessState::ProcessState() : fpu_(fpu()), x87_(x87()), locale_(locale()), cwd_(cwd()) {
  for (std::size_t i = 0; i < kFaults.size(); ++i)
    ::sigaction(kFaults[i].number, nullptr, &handlers_[i]);
}

std::vector<std::string> ProcessState::restore() const {
  std::vector<std::string> changed;
  if (const auto now = fpu(); now != fpu_) {
    changed.push_back(fmt::format(
        "the floating-point mode ({:#x} -> {:#x}; -ffast-math at its link?)", fpu_, now));
    set_fpu(fpu_);
  }
  if (const auto now = x87(); now != x87_) {
    changed.push_back(fmt::format("the x87 control word ({:#x} -> {:#x})", x87_, now));
    set_x87(x87_);
  }
  if (const auto now = locale(); now != locale_) {
    changed.push_back(fmt::format("the locale ('{}' -> '{}')", locale_, now));
    std::setlocale(LC_ALL, locale_.c_str());
  }
  if (const auto now = cwd(); now != cwd_) {
    changed.push_back(fmt::format("the working directory ('{}' -> '{}')", cwd_, now));
    std::error_code ec;
    std::filesystem::current_path(cwd_, ec);
  }
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    struct sigaction now {};
    ::sigaction(kFaults[i].number, nullptr, &now);
    if (now.sa_sigaction == handlers_[i].sa_sigaction && now.sa_flags == handlers_[i].sa_flags)
      continue;
    changed.push_back(fmt::format("the handler of {}", kFaults[i].name));
    ::sigaction(kFaults[i].number, &handlers_[i], nullptr);
  }
  return changed;
}

}  // namespace tenon::plugin_host
