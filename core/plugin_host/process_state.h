// What a plugin's constructors may not change for the whole process: rounding and flush modes of
// the FPU, locale, fault handlers, working directory. (A g++ plugin linked with -ffast-math
// switches the host to flush-to-zero.)
#ifndef TENON_CORE_PLUGIN_HOST_PROCESS_STATE_H
#define TENON_CORE_PLUGIN_HOST_PROCESS_STATE_H

#include <signal.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon::plugin_host {

class ProcessState {
 public:
  ProcessState();  ///< takes the state of now
  /// What differs now, one phrase each; everything is put back to the state taken.
  std::vector<std::string> restore() const;

 private:
  std::uint64_t fpu_ = 0;     // MXCSR or FPCR
  std::uint16_t x87_ = 0;     // x86 only
  std::string locale_, cwd_;  // cwd empty: it could not be read
  std::array<struct sigaction, 4> handlers_{};
};

}  // namespace tenon::plugin_host

#endif
