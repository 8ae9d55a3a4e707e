// The text form of all levels. parse(print(m)) == m for every module. Linear and deterministic. See
// sdk/docs/ir.md.
#ifndef TENON_TEXT_H
#define TENON_TEXT_H

#include <map>
#include <string>
#include <string_view>

#include "tenon/ir.h"

namespace tenon {

/// Where the bytes of large constants live, by lower-case hex sha256. Constants of up to 16
/// elements print inline.
using Blobs = std::map<std::string, Constant>;

struct PrintOptions {
  bool locations = false;
  Blobs* blobs = nullptr;  ///< when given, receives every constant that did not print inline
};
std::string print(const Module& m, const PrintOptions& options = {});
std::string print(const Module& m, const Function& f);
std::string print(const te::Compute& c, std::string_view name = "c");
std::string print(const Schedule& s, const te::Compute& c);
std::string print(const tir::Kernel& k);

/// All errors (cap 20), each with line and column of `file`. The module is verified. A blob that is
/// not in `blobs` is an error.
Result<Module> parse_module(std::string_view text, std::string_view file,
                            std::shared_ptr<const OpTable> ops, const Blobs& blobs = {});
Result<te::Compute> parse_compute(std::string_view text, std::string_view file);
Result<Schedule> parse_schedule(std::string_view text, std::string_view file, const te::Compute& c);
Result<tir::Kernel> parse_kernel(std::string_view text, std::string_view file);

}  // namespace tenon

#endif
