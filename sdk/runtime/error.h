// Failures of the runtime: a code of 8xxx and a text. No exceptions leave the library.
#ifndef TENON_SDK_RUNTIME_ERROR_H
#define TENON_SDK_RUNTIME_ERROR_H

#include <stdexcept>
#include <string>

namespace tenon::runtime {

/// Thrown inside the library, turned into a code at its C boundary.
struct Error : std::runtime_error {
  Error(int c, const std::string& text) : std::runtime_error(text), code(c) {}
  int code;
};

}  // namespace tenon::runtime

#endif
