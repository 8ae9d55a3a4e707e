#include <cstdio>
#include <cstdlib>

#include "tenon/diag.h"

namespace tenon {

void bug(const char* file, int line, std::string_view what) {
  std::fprintf(stderr,
               "error[TN9001]: bug in tenon: %.*s\n  --> %s:%d\n   = help: tenon explain TN9001\n",
               static_cast<int>(what.size()), what.data(), file, line);
  std::abort();
}

}  // namespace tenon
