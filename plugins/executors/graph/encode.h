// ExecProgram -> program.json and the images of constants. Pure: the same program gives the same
// bytes.
#ifndef TENON_PLUGINS_EXECUTORS_GRAPH_ENCODE_H
#define TENON_PLUGINS_EXECUTORS_GRAPH_ENCODE_H

#include <string>
#include <vector>

#include "tenon/executor.h"

namespace tenon::graph_executor {

/// Text of program.json, version 1.1. TN6201 names what the format cannot say; TN9063: two calls of
/// one kernel with arguments of different sizes.
Result<std::string> encode_program(const ExecProgram& p, const std::vector<std::string>& objects);
/// The file that holds the constants of pool `i`, or "" when it has none.
std::string image_name(const ExecProgram& p, std::uint32_t i);
/// Text of the file `checksums`: "<XXH3 of 128 bits>  <name>" for each file, as xxh128sum writes
/// it.
std::string checksums(const ArtefactFiles& files);

}  // namespace tenon::graph_executor

#endif
