// What everything is called in the generated C. Deterministic; free of keywords; distinct within
// each scope.
#ifndef TENON_PLUGINS_EXECUTORS_AOT_NAMES_H
#define TENON_PLUGINS_EXECUTORS_AOT_NAMES_H

#include <string>
#include <string_view>
#include <vector>

#include "tenon/program.h"

namespace tenon::aot_executor {

struct Names {
  std::string prefix;                        ///< tenon_<model>
  std::string macro;                         ///< TENON_<MODEL>
  std::vector<std::string> inputs, outputs;  ///< members of the two structs
  std::vector<std::string> input_macros, output_macros,
      pool_macros;                 ///< after `macro`, distinct in capitals
  std::vector<std::string> pools;  ///< arrays, after `prefix`
};

/// `model`: the name to use instead of the program's, or "".
Names names_of(const ExecProgram& p, std::string_view model);
/// Text for a comment: what could end it, or continue the line, becomes `_`.
std::string comment_text(std::string_view text);

}  // namespace tenon::aot_executor

#endif
