#include "core/pipeline/timing.h"

#include <fmt/format.h>

namespace tenon {
namespace {

void rows(std::string& out, const std::vector<TimedPart>& tree, std::size_t depth, double total) {
  for (const TimedPart& p : tree) {
    out += fmt::format("{:<32} {:>10.2f} ms {:>5.1f} %", std::string(2 * depth, ' ') + p.name, p.ms,
                       total > 0 ? 100 * p.ms / total : 0);
    for (const auto& [name, n] : p.counts) out += fmt::format("  {} {}", name, n);
    out += "\n";
    rows(out, p.parts, depth + 1, total);
  }
}

}  // namespace

TimedScope::TimedScope(std::vector<TimedPart>& parent, std::string name)
    : parent_(parent), part_{.name = std::move(name)}, start_(std::chrono::steady_clock::now()) {}

TimedScope::~TimedScope() {
  part_.ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  parent_.push_back(std::move(part_));
}

std::string render_timing(const std::vector<TimedPart>& tree) {
  double total = 0;
  for (const TimedPart& p : tree) total += p.ms;
  std::string out;
  rows(out, tree, 0, total);
  return out + fmt::format("{:<32} {:>10.2f} ms\n", "total", total);
}

}  // namespace tenon
