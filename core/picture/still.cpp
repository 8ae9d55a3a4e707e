// Pictures without a browser's help: SVG and text.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/picture/picture.h"
#include "core/picture/roles.h"
#include "core/support/size_text.h"

namespace tenon {
namespace {

using picture::kRoles;

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

std::optional<std::uint32_t> find_pool(const StorageRequest& r, std::string_view id) {
  for (std::uint32_t p = 0; p < r.pools.size(); ++p)
    if (r.pools[p].id == id) return p;
  return std::nullopt;
}

constexpr double kWidth = 420, kHeight = 260, kGap = 24, kTop = 40;

void draw(std::string& out, const ShownPlan& s, std::uint32_t pool, double left, double top_bytes) {
  const StorageRequest& r = *s.request;
  const double steps = static_cast<double>(std::max<std::size_t>(1, r.steps.size()));
  const auto x = [&](double t) { return left + t / steps * kWidth; };
  const auto y = [&](double a) { return kTop + kHeight - a / top_bytes * kHeight; };
  const PoolUse& use = s.plan->pools[pool];
  out += fmt::format("<text x=\"{:.1f}\" y=\"16\" class=\"t\">{}</text>\n", left, xml(s.title));
  out += fmt::format("<text x=\"{:.1f}\" y=\"32\" class=\"f\">{}: {} (bound {})</text>\n", left,
                     xml(r.pools[pool].id), size_text(use.peak), size_text(use.bound));
  out += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"b\"/>\n", left,
      kTop, kWidth, kHeight);
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    const StorageToken& t = r.tokens[i];
    const Slot at = s.plan->slots[i];
    if (at.pool != pool) continue;
    const double top = y(static_cast<double>(at.offset + t.size)), w = x(t.end) - x(t.first);
    const double h = y(static_cast<double>(at.offset)) - top;
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "class=\"r{}\"><title>{}: {} bytes at {}</title></rect>\n",
        x(t.first), top, std::max(w, 0.5), std::max(h, 0.5), picture::look_of(t), xml(t.name),
        t.size, at.offset);
  }
  out += fmt::format("<path d=\"M{:.1f} {:.1f}h{:.1f}\" class=\"p\"/>\n", left,
                     y(static_cast<double>(use.peak)), kWidth);
}

}  // namespace

std::string picture_svg(std::span<const ShownPlan> plans, std::string_view pool) {
  double top = 1;
  for (const ShownPlan& s : plans)
    if (const auto p = find_pool(*s.request, pool))
      top = std::max(top, static_cast<double>(s.plan->pools[*p].peak));
  top *= 1.03;
  const double width = static_cast<double>(plans.size()) * (kWidth + kGap);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n"
      "<title>Storage of pool {}: time across, addresses up</title>\n<style>\n"
      "text{{font:12px system-ui,sans-serif;fill:#444}} .t{{font-weight:600}} .f{{fill:#777}}\n"
      ".b{{fill:none;stroke:#888;stroke-opacity:.5}} "
      ".p{{stroke:#b3261e;stroke-dasharray:5 3;fill:none}}\nrect{{stroke:#0006;stroke-width:.5}}\n",
      width, kTop + kHeight + 30, xml(pool));
  for (std::size_t k = 0; k < kRoles.size(); ++k)
    out += fmt::format(".r{}{{fill:{}}} ", k, kRoles[k].light);
  out += "\n@media (prefers-color-scheme: dark){text{fill:#ccc} .f{fill:#999} .p{stroke:#ff8a80} ";
  for (std::size_t k = 0; k < kRoles.size(); ++k)
    out += fmt::format(".r{}{{fill:{}}} ", k, kRoles[k].dark);
  out += "}\n</style>\n";
  double left = 4;
  for (const ShownPlan& s : plans) {
    if (const auto p = find_pool(*s.request, pool)) draw(out, s, *p, left, top);
    left += kWidth + kGap;
  }
  double x = 4;
  for (std::size_t k = 0; k < kRoles.size(); ++k) {
    const bool used = std::ranges::any_of(plans, [&](const ShownPlan& s) {
      const auto p = find_pool(*s.request, pool);
      for (std::size_t i = 0; p && i < s.request->tokens.size(); ++i)
        if (s.plan->slots[i].pool == *p && picture::look_of(s.request->tokens[i]) == k) return true;
      return false;
    });
    if (!used) continue;
    out += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"11\" height=\"11\" class=\"r{}\"/>"
        "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        x, kTop + kHeight + 12, k, x + 15, kTop + kHeight + 22, name(kRoles[k].role));
    x += 90;
  }
  return out + "</svg>\n";
}

std::string picture_text(const ShownPlan& s, std::string_view pool, std::uint32_t columns,
                         std::uint32_t rows) {
  const StorageRequest& r = *s.request;
  const auto p = find_pool(r, pool);
  if (!p || columns < 20 || rows < 2) return "";
  const PoolUse& use = s.plan->pools[*p];
  const std::uint32_t left = 11, wide = columns - left;
  const double steps = static_cast<double>(std::max<std::size_t>(1, r.steps.size()));
  const double top = static_cast<double>(std::max<std::uint64_t>(1, use.peak));
  std::vector<std::string> grid(rows, std::string(wide, ' '));
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    const StorageToken& t = r.tokens[i];
    const Slot at = s.plan->slots[i];
    if (at.pool != *p) continue;
    const auto cell = [](double v, std::uint32_t n) {
      return std::min(n - 1, static_cast<std::uint32_t>(v * n));
    };
    const std::uint32_t x0 = cell(t.first / steps, wide);
    const std::uint32_t x1 = std::max(x0, cell((t.end - 1e-9) / steps, wide));
    const std::uint32_t y0 = cell(static_cast<double>(at.offset) / top, rows);
    const std::uint32_t y1 =
        std::max(y0, cell((static_cast<double>(at.offset + t.size) - 0.5) / top, rows));
    const char letter = kRoles[picture::look_of(t)].letter;
    for (std::uint32_t y = y0; y <= y1; ++y) {
      std::fill(grid[y].begin() + x0, grid[y].begin() + x1 + 1, letter);
      if (x1 > x0) grid[y][x0] = '|';
    }
  }
  std::string out = fmt::format("{}, {}: peak {}, bound {}; time across, addresses up\n", s.title,
                                pool, size_text(use.peak), size_text(use.bound));
  for (std::uint32_t y = rows; y-- > 0;) {
    const std::string label = y == rows - 1 ? size_text(use.peak)
                              : y == 0      ? std::string("0")
                                            : std::string();
    std::string line = fmt::format("{:>{}} ", label, left - 1) + grid[y];
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  const auto mark = static_cast<std::uint32_t>(use.peak_step / steps * wide);
  out += std::string(left + std::min(mark, wide - 1), ' ') + "^ peak step " +
         std::to_string(use.peak_step) + "\n";
  std::string key;
  for (std::size_t k = 0; k < kRoles.size(); ++k)
    if (std::ranges::any_of(grid, [&](const std::string& line) {
          return line.find(kRoles[k].letter) != line.npos;
        }))
      key +=
          fmt::format("{}{} {}", key.empty() ? "" : ", ", kRoles[k].letter, name(kRoles[k].role));
  return out + key + "\n";
}

}  // namespace tenon
