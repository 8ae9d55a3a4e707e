// JSON on stdout.
#ifndef TENON_CORE_CLI_JSON_H
#define TENON_CORE_CLI_JSON_H

#include <nlohmann/json.hpp>

#include "core/cli/cli.h"

namespace tenon::cli {

/// Indented. A name of a model that is no UTF-8 gets U+FFFD for what cannot be read.
inline void say_json(const nlohmann::ordered_json& j) {
  say(j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace tenon::cli

#endif
