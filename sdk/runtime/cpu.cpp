#include "cpu.h"

#include <cstdint>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon::runtime {

#if defined(__x86_64__)
namespace {

enum Register { eax, ebx, ecx, edx };
/// What the operating system must save for the feature to be usable.
enum Needs { nothing, ymm, zmm };
struct Row {
  std::string_view name;
  std::uint32_t leaf, subleaf;
  Register reg;
  unsigned bit;
  Needs needs;
};
constexpr Row rows[] = {{"sse3", 1, 0, ecx, 0, nothing},
                        {"ssse3", 1, 0, ecx, 9, nothing},
                        {"fma", 1, 0, ecx, 12, ymm},
                        {"cx16", 1, 0, ecx, 13, nothing},
                        {"sse4.1", 1, 0, ecx, 19, nothing},
                        {"sse4.2", 1, 0, ecx, 20, nothing},
                        {"movbe", 1, 0, ecx, 22, nothing},
                        {"popcnt", 1, 0, ecx, 23, nothing},
                        {"avx", 1, 0, ecx, 28, ymm},
                        {"f16c", 1, 0, ecx, 29, ymm},
                        {"bmi", 7, 0, ebx, 3, nothing},
                        {"avx2", 7, 0, ebx, 5, ymm},
                        {"bmi2", 7, 0, ebx, 8, nothing},
                        {"avx512f", 7, 0, ebx, 16, zmm},
                        {"avx512dq", 7, 0, ebx, 17, zmm},
                        {"avx512ifma", 7, 0, ebx, 21, zmm},
                        {"avx512cd", 7, 0, ebx, 28, zmm},
                        {"avx512bw", 7, 0, ebx, 30, zmm},
                        {"avx512vl", 7, 0, ebx, 31, zmm},
                        {"avx512vbmi", 7, 0, ecx, 1, zmm},
                        {"avx512vbmi2", 7, 0, ecx, 6, zmm},
                        {"gfni", 7, 0, ecx, 8, nothing},
                        {"avx512vnni", 7, 0, ecx, 11, zmm},
                        {"avx512bitalg", 7, 0, ecx, 12, zmm},
                        {"avx512vpopcntdq", 7, 0, ecx, 14, zmm},
                        {"avx512fp16", 7, 0, edx, 23, zmm},
                        {"avxvnni", 7, 1, eax, 4, ymm},
                        {"avx512bf16", 7, 1, eax, 5, zmm},
                        {"lzcnt", 0x80000001, 0, ecx, 5, nothing}};

std::uint64_t saved_state() {
  unsigned r[4] = {};
  if (!__get_cpuid(1, &r[0], &r[1], &r[2], &r[3]) || !(r[ecx] & (1u << 27))) return 0;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool has(std::string_view name, std::uint64_t saved) {
  for (const Row& row : rows) {
    if (row.name != name) continue;
    unsigned r[4] = {};
    if (!__get_cpuid_count(row.leaf, row.subleaf, &r[0], &r[1], &r[2], &r[3])) return false;
    const std::uint64_t mask = row.needs == zmm ? 0xe6 : row.needs == ymm ? 0x6 : 0;
    return (r[row.reg] >> row.bit & 1) != 0 && (saved & mask) == mask;
  }
  return false;
}

}  // namespace

std::vector<std::string> missing_features(const std::vector<std::string>& needed) {
  std::vector<std::string> out;
  const std::uint64_t saved = saved_state();
  for (const std::string& f : needed)
    if (!has(f, saved)) out.push_back(f);
  return out;
}
#else
std::vector<std::string> missing_features(const std::vector<std::string>& needed) { return needed; }
#endif

}  // namespace tenon::runtime
