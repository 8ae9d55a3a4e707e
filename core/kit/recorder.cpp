#include "core/kit/recorder.h"

#include <time.h>

#include <algorithm>

namespace tenon::kit {
namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

Recorder::Recorder(const tn_planner& planner, std::uint32_t n_tokens, std::uint64_t work,
                   std::uint64_t stop_at)
    : last(n_tokens), n_tokens_(n_tokens), limit_(work), stop_at_(stop_at) {
  for (std::uint32_t i = 0; i < planner.n_options; ++i)
    options_[planner.options[i].key] = planner.options[i].dflt ? planner.options[i].dflt : "";
}

void Recorder::mix(std::uint64_t x) {  // FNV-1a, word by word
  digest = (digest ^ x) * 0x100000001b3u;
  digest ^= digest >> 29;
}

void Recorder::heard() {
  const double now = cpu_seconds();
  longest_silence = std::max(longest_silence, now - last_heard_);
  last_heard_ = now;
}

int Recorder::tick(std::uint64_t units) {
  heard();
  ++ticks;
  done += units;
  if (stopped_) ++after_stop;
  if (!stopped_ && (done > limit_ || (stop_at_ && ticks >= stop_at_))) {
    stopped_ = true;
    stopped_at_ = last_heard_;
  }
  return stopped_ ? 1 : 0;
}

int Recorder::offer(const tn_slot* slots, std::uint64_t bound) {
  ++offers;
  mix(bound);
  for (std::uint32_t i = 0; slots && i < n_tokens_; ++i) {
    last[i] = slots[i];
    mix(slots[i].pool);
    mix(slots[i].offset);
  }
  return 0;
}

int Recorder::run(const tn_planner& planner, const tn_request& request) {
  tn_host h{};
  h.struct_size = sizeof h;
  h.self = this;
  h.tick = [](const tn_host* x, std::uint64_t units) { return self(x).tick(units); };
  h.offer = [](const tn_host* x, const tn_slot* s, std::uint64_t bound) {
    return self(x).offer(s, bound);
  };
  h.say = [](const tn_host*, std::uint32_t, const char*) {};
  h.option = [](const tn_host* x, const char* key) -> const char* {
    const auto it = key ? self(x).options_.find(key) : self(x).options_.end();
    return it == self(x).options_.end() ? nullptr : it->second.c_str();
  };
  h.plan = [](const tn_host*, const char*, std::uint64_t, tn_slot*) -> int {
    return TN_UNSUPPORTED;
  };
  last_heard_ = cpu_seconds();
  status = planner.plan(&request, &h);
  heard();
  if (stopped_) after_stop_seconds = last_heard_ - stopped_at_;
  mix(static_cast<std::uint64_t>(status));
  return status;
}

}  // namespace tenon::kit
