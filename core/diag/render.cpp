#include "core/diag/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/support/files.h"
#include "core/support/utf8.h"

namespace tenon {
namespace {

constexpr std::size_t max_quoted = 120;  // code points of a source line shown at once

/// Escape sequences, or nothing.
struct Paint {
  bool on;
  std::string operator()(const char* code, std::string_view text) const {
    return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
};
constexpr const char* bold = "1";
constexpr const char* blue = "1;34";

const char* word(Severity s) {
  return s == Severity::error ? "error" : s == Severity::warning ? "warning" : "note";
}
const char* hue(Severity s) {
  return s == Severity::error ? "1;31" : s == Severity::warning ? "1;33" : "1;36";
}

/// The quoted line, the caret under it and, when it is short, the remedy beside the caret.
/// Returns whether the remedy has been printed.
bool quote(std::string& out, const Diag& d, std::string_view line, const Paint& paint) {
  const std::string number = std::to_string(d.loc.line), gutter(number.size(), ' ');
  const std::u32string text = code_points(line);
  std::size_t col =
      std::min<std::size_t>(static_cast<std::size_t>(std::max(d.loc.col, 1)) - 1, text.size());
  std::size_t width =
      d.loc.end_col > d.loc.col ? static_cast<std::size_t>(d.loc.end_col - d.loc.col) : 1;
  const std::size_t from =
      text.size() > max_quoted && col > max_quoted / 2 ? col - max_quoted / 2 : 0;
  const std::string shown = (from ? "..." : "") +
                            printable(std::u32string_view(text).substr(from, max_quoted)) +
                            (text.size() > from + max_quoted ? "..." : "");
  col = col - from + (from ? 3 : 0);
  width = std::clamp<std::size_t>(
      width, 1, std::max<std::size_t>(1, max_quoted + 6 - std::min(col, max_quoted)));
  out += fmt::format("{} {}\n", gutter, paint(blue, "|"));
  out += fmt::format("{} {}\n", paint(blue, number + " |"), shown);
  out += fmt::format("{} {}", gutter, paint(blue, "|"));
  if (d.loc.col <= 0) return out += "\n", false;
  const bool beside = !d.fix.empty() && d.fix.size() <= 60;
  out += fmt::format(" {}{}{}\n", std::string(col, ' '),
                     paint(hue(d.severity), std::string(width, '^')),
                     beside ? " " + paint(hue(d.severity), printable(d.fix)) : "");
  return beside;
}

std::size_t byte_column(const Diag& d, SourceCache& sources) {
  const auto line = sources.line(d.loc.file, d.loc.line);
  const auto col = static_cast<std::size_t>(std::max(d.loc.col, 0));
  return line && col ? byte_offset(*line, col - 1) + 1 : col;
}

auto key(const Diag& d) { return std::tie(d.loc.file, d.loc.line, d.loc.col, d.code, d.what); }

}  // namespace

void SourceCache::add(std::string file, std::string text) {
  Source s{std::move(text), {0}};
  for (std::size_t i = 0; i < s.text.size(); ++i)
    if (s.text[i] == '\n') s.starts.push_back(i + 1);
  sources_[std::move(file)] = std::move(s);
}

const SourceCache::Source* SourceCache::source(const std::string& file) {
  if (!sources_.contains(file)) {
    sources_[file] = std::nullopt;
    if (auto text = files_ && !file.empty() ? files_->read(file) : Result<std::string>(Diag{}))
      add(file, *std::move(text));
  }
  const std::optional<Source>& s = sources_[file];
  return s ? &*s : nullptr;
}

std::optional<std::string_view> SourceCache::line(const std::string& file, int n) {
  const Source* s = n > 0 ? source(file) : nullptr;
  if (!s || static_cast<std::size_t>(n) > s->starts.size()) return std::nullopt;
  const std::size_t from = s->starts[static_cast<std::size_t>(n) - 1],
                    end = s->text.find('\n', from);
  std::string_view text =
      std::string_view(s->text).substr(from, end == std::string::npos ? end : end - from);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::string place(const Loc& at) {
  if (at.file.empty()) return "";
  if (at.line <= 0) return at.file;
  return at.col > 0 ? fmt::format("{}:{}:{}", at.file, at.line, at.col)
                    : fmt::format("{}:{}", at.file, at.line);
}

std::string render(const Diag& d, SourceCache& sources, bool color) {
  const Paint paint{color};
  const std::string head =
      d.code ? fmt::format("{}[TN{:04}]", word(d.severity), d.code) : word(d.severity);
  std::string out = paint(hue(d.severity), head) + paint(bold, ": " + printable(d.what)) + "\n";
  const std::string gutter(d.loc.line > 0 ? std::to_string(d.loc.line).size() : 1, ' ');
  bool fixed = d.fix.empty();
  if (!d.loc.file.empty()) {
    out += fmt::format("{}{} {}\n", gutter, paint(blue, "-->"), printable(place(d.loc)));
    if (const auto line = sources.line(d.loc.file, d.loc.line))
      fixed |= quote(out, d, *line, paint);
  }
  const auto note = [&](std::string_view text) {
    out += fmt::format("{} {} {}\n", gutter, paint(blue, "="), text);
  };
  if (!fixed) note("try: " + printable(d.fix));
  for (const std::string& n : d.notes) note(printable(n));
  if (d.code && d.severity != Severity::note)
    note(fmt::format("help: tenon explain TN{:04}", d.code));
  return out;
}

std::string render(const Diags& all, SourceCache& sources, bool color) {
  std::string out;
  for (const Diag& d : all) out += render(d, sources, color);
  return out;
}

std::string render_json(const Diags& all, SourceCache& sources) {
  auto out = nlohmann::ordered_json::array();
  for (const Diag& d : all)
    out.push_back({{"code", d.code ? fmt::format("TN{:04}", d.code) : ""},
                   {"severity", word(d.severity)},
                   {"file", d.loc.file},
                   {"line", d.loc.line},
                   {"col", d.loc.col},
                   {"byte_col", byte_column(d, sources)},
                   {"end_col", d.loc.end_col},
                   {"what", d.what},
                   {"fix", d.fix},
                   {"notes", d.notes}});
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Diags sorted_and_capped(Diags all, std::size_t cap) {
  std::ranges::stable_sort(all, [](const Diag& a, const Diag& b) { return key(a) < key(b); });
  const auto same =
      std::ranges::unique(all, [](const Diag& a, const Diag& b) { return key(a) == key(b); });
  all.erase(same.begin(), same.end());
  if (all.size() <= cap) return all;
  const std::size_t left = all.size() - cap;
  all.resize(cap);
  all.push_back({.what = fmt::format("{} more not shown", left), .severity = Severity::note});
  return all;
}

}  // namespace tenon
