// The constants of a pool as C text.
#ifndef TENON_PLUGINS_EXECUTORS_AOT_IMAGE_H
#define TENON_PLUGINS_EXECUTORS_AOT_IMAGE_H

#include <string>
#include <vector>

#include "tenon/program.h"

namespace tenon::aot_executor {

/// Each constant at its planned offset and 0 between. A pool of constants: all of it; another: up
/// to the end of the last constant (empty when there is none). TN9062: a constant passes the end of
/// its pool.
Result<std::vector<std::byte>> image_of(const ExecProgram& p, std::uint32_t pool);
/// A string literal for an array of just as many bytes. Compilers read it ten times as fast as a
/// list of numbers.
std::string literal(const std::vector<std::byte>& bytes);

}  // namespace tenon::aot_executor

#endif
