#include "core/cli/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/cli/commands.h"
#include "core/diag/render.h"
#include "core/support/files.h"
#include "core/support/utf8.h"

namespace tenon::cli {

std::vector<Verb> verbs() {
  return {
      {"fit", "Does a model fit a board? Pools, peak, bound, with and without sharing", add_fit},
      {"compile", "Compile a model to an artefact", add_compile},
      {"run", "Run an artefact", add_run},
      {"compare", "Compile, run, and compare with expected outputs", add_compare},
      {"opt", "Run passes over a module in text form", add_opt},
      {"plan", "Solve, check, show and export storage plans", add_plan},
      {"validate", "Check a pipeline or board file", add_validate},
      {"plugin", "List and inspect plugins", add_plugin},
      {"pass", "Passes", add_pass},
      {"pipeline", "Shipped pipelines", add_pipeline},
      {"board", "Shipped boards", add_board},
      {"op", "Ops", add_op},
      {"kit", "Check a plugin against its contract", add_kit},
      {"explain", "The page of an error code", add_explain},
  };
}

int exit_code_of(int code) {
  // Of the ranges below, what is usage or a file that cannot be read.
  for (const int usage : {7001, 8001, 8013, 8103, 8104, 8108})
    if (code == usage) return 2;
  switch (code / 1000) {
    case 1:
      return 3;
    case 2:
      return 2;
    case 9:
      return 5;
    default:
      return 1;
  }
}

int Context::report(const Diags& diags) {
  DiskFiles files;
  SourceCache sources(&files);
  const Diags sorted = sorted_and_capped(diags);
  if (!sorted.empty())
    fmt::print(stderr, "{}",
               json_errors ? render_json(sorted, sources) + "\n"
                           : render(sorted, sources, color_wanted()));
  for (const Diag& d : sorted)
    if (d.severity == Severity::error) exit_code = std::max(exit_code, exit_code_of(d.code));
  return exit_code;
}

SessionOptions Context::session_options() const {
  SessionOptions o;
  read_environment(o);
  o.plugin_paths = plugin_paths;
  char* cwd = getcwd(nullptr, 0);
  if (cwd) o.project_dir = cwd;
  std::free(cwd);
  return o;
}

bool color_wanted() { return isatty(STDERR_FILENO) && !std::getenv("NO_COLOR"); }
bool stdout_is_terminal() { return isatty(STDOUT_FILENO); }

void say(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    fmt::print("{}{}", printable(text.substr(0, end)), end == text.npos ? "" : "\n");
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

Progress::Progress(bool wanted) : on_(wanted && isatty(STDERR_FILENO)) {}
Progress::~Progress() {
  if (on_) fmt::print(stderr, "\r\x1b[K");
}
void Progress::say(const std::string& what) {
  if (on_) fmt::print(stderr, "\r\x1b[K{}", printable(what));
}

Result<Shape> shape_from_text(std::string_view text) {
  Shape s;
  const auto refuse = [&] {
    return Diag{.code = 2151,
                .loc = {},
                .what = fmt::format("'{}' is not a shape", text),
                .fix = "write it as 1x3x224x224, or `scalar`"};
  };
  if (text == "scalar") return s;
  while (true) {
    std::int64_t n = 0;
    auto [p, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (ec != std::errc() || n < 0) return refuse();
    s.push_back(n);
    text.remove_prefix(static_cast<std::size_t>(p - text.data()));
    if (text.empty()) return s;
    if (text.front() != 'x') return refuse();
    text.remove_prefix(1);
  }
}

Result<std::map<std::string, std::string>> name_values(const std::vector<std::string>& items,
                                                       std::string_view option) {
  std::map<std::string, std::string> out;
  for (const std::string& i : items) {
    const auto eq = i.rfind('=');
    if (eq == i.npos || eq == 0)
      return Diag{.code = 2151,
                  .loc = {},
                  .what = fmt::format("{} '{}' is not NAME=VALUE", option, i),
                  .fix = fmt::format("write {} NAME=VALUE", option)};
    if (!out.emplace(i.substr(0, eq), i.substr(eq + 1)).second)
      return Diag{.code = 2151,
                  .loc = {},
                  .what = fmt::format("{} names '{}' twice", option, i.substr(0, eq)),
                  .fix = "keep one of them"};
  }
  return out;
}

Result<std::map<std::string, Shape>> shapes_from(const std::vector<std::string>& items) {
  auto texts = name_values(items, "--shape");
  if (!texts) return texts.errors();
  std::map<std::string, Shape> out;
  for (const auto& [name, text] : *texts) {
    auto s = shape_from_text(text);
    if (!s) return s.errors();
    out[name] = *s;
  }
  return out;
}

Result<std::map<std::string, std::int64_t>> dims_from(const std::vector<std::string>& items) {
  auto texts = name_values(items, "--dim");
  if (!texts) return texts.errors();
  std::map<std::string, std::int64_t> out;
  for (const auto& [name, text] : *texts) {
    auto s = shape_from_text(text);
    if (!s) return s.errors();
    if (s->size() != 1)
      return Diag{.code = 2151,
                  .loc = {},
                  .what = fmt::format("--dim {}: '{}' is not one number", name, text),
                  .fix = fmt::format("write --dim {}=N", name)};
    out[name] = (*s)[0];
  }
  return out;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  const auto columns = [](const std::string& cell) { return code_points(cell).size(); };
  const auto numeric = [](const std::string& cell) {
    return cell.empty() || cell == "-" || (cell[0] >= '0' && cell[0] <= '9' && cell.size() <= 12);
  };
  std::vector<std::size_t> width;
  std::vector<char> numbers;  // per column: all below the heading are numbers
  for (const auto& r : rows)
    for (std::size_t c = 0; c < r.size(); ++c) {
      width.resize(std::max(width.size(), c + 1));
      numbers.resize(width.size(), 1);
      width[c] = std::max(width[c], columns(r[c]));
      if (&r != &rows[0] && !numeric(r[c])) numbers[c] = 0;
    }
  std::string out;
  for (const auto& r : rows) {
    std::string line;
    for (std::size_t c = 0; c < r.size(); ++c) {
      const std::string gap(width[c] - columns(r[c]), ' ');
      const std::string cell = printable(r[c]);  // a line break in a name makes no row
      line += (numbers[c] ? gap + cell : cell + gap) + "  ";
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

}  // namespace tenon::cli
