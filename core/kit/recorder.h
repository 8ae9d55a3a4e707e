// A host that records what a planner offers and how it behaves; judges nothing, allocates nothing
// while the planner runs.
#ifndef TENON_CORE_KIT_RECORDER_H
#define TENON_CORE_KIT_RECORDER_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tenon/c/planner.h"

namespace tenon::kit {

class Recorder {
 public:
  /// Options of the planner's table at their defaults. `work`: tick() says stop when more than
  /// this is done. `stop_at`: tick() says stop from this call on (0: never).
  Recorder(const tn_planner& planner, std::uint32_t n_tokens, std::uint64_t work = UINT64_MAX,
           std::uint64_t stop_at = 0);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Calls plan(). Exceptions go through.
  int run(const tn_planner& planner, const tn_request& request);

  int status = TN_FAILED;
  std::uint64_t offers = 0;
  std::uint64_t digest = 0;           ///< of every offer and bound, in order
  std::vector<tn_slot> last;          ///< the last offer
  std::uint64_t ticks = 0, done = 0;  ///< calls of tick(), units of work
  std::uint64_t after_stop = 0;       ///< calls of tick() after the one that said stop
  double longest_silence = 0;     ///< seconds of CPU between two calls of tick(), begin and end too
  double after_stop_seconds = 0;  ///< CPU between the first stop and the return

 private:
  static Recorder& self(const tn_host* h) { return *static_cast<Recorder*>(h->self); }
  int tick(std::uint64_t units);
  int offer(const tn_slot* slots, std::uint64_t bound);
  void heard();
  void mix(std::uint64_t x);

  std::map<std::string, std::string, std::less<>> options_;
  std::uint32_t n_tokens_;
  std::uint64_t limit_, stop_at_;
  double last_heard_ = 0, stopped_at_ = 0;
  bool stopped_ = false;
};

}  // namespace tenon::kit

#endif
