// Golden tests of passes. A case is one file, tests/golden/<pass>/<case>.tir:
//
//   // run: simplify,pack-weights(panel=32),dead-code
//   tenon 1.0
//   ...
//   // ---- expect
//   tenon 1.0
//   ...
//
// The module is verified before and after each pass, and all that is printed is read back and
// compared. A pass that refuses prints `error TN<code>: ...`. --bless writes what came out below
// the mark; the diff is for review.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include "core/plugin_host/session.h"
#include "tenon/pass.h"
#include "tenon/text.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
/// Runs the passes in order; verifies in between.
using RunPasses = std::function<Status(Module&, const Names&)>;

constexpr std::string_view run_mark = "// run: ", expect_mark = "// ---- expect\n";

struct Case {
  Names passes;
  std::string input, expect;  // `input` from the first line to the mark
};

std::string read(const fs::path& p) {
  std::ostringstream out;
  out << std::ifstream(p, std::ios::binary).rdbuf();
  return out.str();
}

Result<Case> split(const std::string& file, const std::string& text) {
  const std::size_t line_end = text.find('\n'), mark = text.find(expect_mark);
  if (!text.starts_with(run_mark) || mark == std::string::npos)
    return Diag{.loc = {file, 1, 1, 0},
                .what = "not a golden test",
                .fix = "the first line is `// run: <pass>[,<pass>]`, a later one `// ---- expect`"};
  Case c{.input = text.substr(0, mark), .expect = text.substr(mark + expect_mark.size())};
  std::istringstream names(text.substr(run_mark.size(), line_end - run_mark.size()));
  for (std::string name; std::getline(names, name, ',');) {
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    c.passes.push_back(name);
  }
  return c;
}

std::string shown(const Diags& errors) {
  std::string s;
  for (const Diag& d : errors) {
    s += fmt::format("error TN{}: {}\n", d.code, d.what);
    if (!d.fix.empty()) s += fmt::format("  try: {}\n", d.fix);
  }
  return s;
}

/// Prints `m` and checks that the text is `m`.
Result<std::string> printed(const Module& m) {
  Blobs blobs;
  std::string text = print(m, {.blobs = &blobs});
  auto back = parse_module(text, "printed", m.ops_ptr(), blobs);
  if (!back) return Diag{.what = "what was printed does not read back: " + shown(back.errors())};
  std::string why;
  if (!equal(m, *back, &why))
    return Diag{.what = "what was printed reads back as another module: " + why};
  return text;
}

Result<std::string> run_case(const std::string& file, const Case& c,
                             const std::shared_ptr<const OpTable>& ops, const RunPasses& run) {
  auto m = parse_module(c.input, file, ops);
  if (!m) return m.errors();
  if (auto text = printed(*m); !text) return text;
  if (Status s = run(*m, c.passes); !s) return shown(s.errors());
  return printed(*m);
}

/// The first line that differs, for people.
std::string first_difference(const std::string& expect, const std::string& got) {
  std::istringstream a(expect), b(got);
  std::string x, y;
  for (int line = 1;; ++line) {
    const bool more_a = bool(std::getline(a, x)), more_b = bool(std::getline(b, y));
    if (!more_a && !more_b) return "";
    if (!more_a || !more_b || x != y)
      return fmt::format("    line {} below the mark\n    - {}\n    + {}\n", line,
                         more_a ? x : "(end)", more_b ? y : "(end)");
  }
}

class Context final : public PassContext {
 public:
  explicit Context(OptionValues options) : options_(std::move(options)) {}
  const OptionValues& options() const override { return options_; }
  void report(Diag) override {}
  void count(std::string, std::int64_t) override {}

 private:
  OptionValues options_;
};

/// "pack-weights(panel=32)": takes what is in parentheses off.
OptionValues options_of(std::string& name) {
  const std::size_t open = name.find('('), equals = name.find('=', open);
  if (open == std::string::npos || equals == std::string::npos || name.back() != ')') return {};
  const OptionValue value{.key = name.substr(open + 1, equals - open - 1),
                          .items = {name.substr(equals + 1, name.size() - equals - 2)}};
  name.erase(open);
  return {value};
}

Status run_with_session(Session& session, Module& m, const Names& names) {
  for (std::string name : names) {
    Context context(options_of(name));
    auto pass = session.pass(name);
    if (!pass) return pass.status();
    if (Status s = (*pass)->run(m, context); !s) return s;
    if (Status s = verify(m); !s) {
      Diags errors = std::move(s).take();
      for (Diag& d : errors) d.what = fmt::format("after {}: {}", name, d.what);
      return errors;
    }
  }
  return {};
}

bool wanted(const std::string& file, const Names& only) {
  return only.empty() || std::ranges::any_of(only, [&](const std::string& s) {
           return file.find(s) != std::string::npos;
         });
}

/// Cases of `dir` that pass and fail.
std::pair<int, int> run_all(const fs::path& dir, bool bless, const Names& only,
                            const std::shared_ptr<const OpTable>& ops, const RunPasses& run) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir))
    if (entry.path().extension() == ".tir") files.push_back(entry.path());
  std::ranges::sort(files);
  int passed = 0, failed = 0;
  for (const fs::path& path : files) {
    const std::string file = fs::relative(path, dir).string(), text = read(path);
    if (!wanted(file, only)) continue;
    std::string why;
    auto c = split(file, text);
    const std::string pass = path.parent_path().filename().string();
    if (c && std::ranges::none_of(c->passes, [&](std::string name) {
          options_of(name);
          return name == pass;
        }))
      c = Diag{.what = "the case does not run the pass whose folder it stands in"};
    if (!c) {
      why = shown(c.errors());
    } else if (auto got = run_case(file, *c, ops, run); !got) {
      why = shown(got.errors());
    } else if (*got != c->expect) {
      if (bless)
        std::ofstream(path, std::ios::binary) << c->input << expect_mark << *got;
      else
        why = first_difference(c->expect, *got);
    }
    why.empty() ? ++passed : ++failed;
    if (!why.empty()) std::cout << "FAIL " << file << "\n" << why;
  }
  return {passed, failed};
}

int main_with(const std::vector<std::string>& args) {
  bool bless = false;
  Names only;
  for (std::size_t k = 1; k < args.size(); ++k) {
    if (args[k] == "--bless")
      bless = true;
    else
      only.push_back(args[k]);
  }
  if (args.empty()) {
    std::cerr << "usage: tenon-golden DIR [--bless] [SUBSTRING...]\n";
    return 2;
  }
  auto session = open_session();
  if (!session) {
    std::cerr << shown(session.errors());
    return 3;
  }
  const auto [passed, failed] =
      run_all(args[0], bless, only, session->ops(),
              [&](Module& m, const Names& names) { return run_with_session(*session, m, names); });
  std::cout << fmt::format("golden: {} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) { return tenon::main_with({argv + 1, argv + argc}); }
