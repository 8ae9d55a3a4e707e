// The command line. Verbs are rows: each cmd_*.cpp defines the verbs of one subject, and CLI11
// parses and prints help from the rows. Exit codes: 0 ok; 1 the answer is no: the input was read
// and refused, does not fit, or differs; 2 usage, configuration, or a file that is missing or
// cannot be read; 3 plugin, 4 plugin crashed, 5 bug.
#ifndef TENON_CORE_CLI_CLI_H
#define TENON_CORE_CLI_CLI_H

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/plugin_host/search.h"
#include "core/support/size_text.h"
#include "tenon/diag.h"
#include "tenon/type.h"

namespace CLI {
class App;
}

namespace tenon::cli {

/// What every verb can use.
struct Context {
  bool json_errors = false;
  std::vector<std::string> plugin_paths;
  int exit_code = 0;

  /// Prints to stderr, as text or JSON; the exit code follows from the codes of the errors.
  /// Warnings alone leave it at 0.
  int report(const Diags& diags);
  int report(const Diag& d) { return report(Diags{d}); }
  SessionOptions session_options() const;
};

/// Adds one verb (or a group of them) to the parser. The callback of a verb sets ctx.exit_code.
struct Verb {
  const char* name;
  const char* help;
  void (*add)(CLI::App& verb, Context& ctx);
};

std::vector<Verb> verbs();

int exit_code_of(int code);
/// stderr is a terminal, and NO_COLOR is not set.
bool color_wanted();
bool stdout_is_terminal();

/// Text to stdout, line by line as printable() makes it: what a file calls something cannot speak
/// to the terminal. The module's own text form needs no such care, it writes escapes.
void say(std::string_view text);

/// A step's progress on a terminal: one line that is rewritten; nothing elsewhere.
class Progress {
 public:
  explicit Progress(bool wanted = true);
  ~Progress();
  void say(const std::string& what);

 private:
  bool on_;
};

/// "1x3x224x224"; "" or "scalar" is rank 0. TN2151.
Result<Shape> shape_from_text(std::string_view text);
/// NAME=VALUE, at the last `=` of the name part; TN2151 names the option.
Result<std::map<std::string, std::string>> name_values(const std::vector<std::string>& items,
                                                       std::string_view option);
Result<std::map<std::string, Shape>> shapes_from(const std::vector<std::string>& items);
/// NAME=N of --dim. TN2151.
Result<std::map<std::string, std::int64_t>> dims_from(const std::vector<std::string>& items);

/// Rows of cells as a table with aligned columns, the first row being the heading; columns of
/// numbers (short cells that start with a digit) to the right.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace tenon::cli

#endif
