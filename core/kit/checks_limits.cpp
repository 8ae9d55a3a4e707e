// Budgets, stops, little memory, a small stack, many tokens.
#include <fmt/format.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <exception>

#include "core/kit/planner_kit.h"
#include "core/kit/recorder.h"
#include "core/kit/requests.h"
#include "core/storage/judge.h"
#include "core/storage/request_view.h"

namespace tenon::kit {
namespace {

// The contract says 10 ms; noise and slow machines get room.
constexpr double kSilence = 0.5;

std::string last_offer_is_right(const StorageRequest& r, const Recorder& rec) {
  if (rec.offers == 0) return "";
  std::vector<Slot> slots;
  for (const tn_slot& s : rec.last) slots.push_back({s.pool, s.offset});
  const Status judged = judge_slots(r, slots);
  return judged ? "" : "a wrong offer: " + judged.errors()[0].what;
}

std::string obeys(const Recorder& rec) {
  if (rec.longest_silence > kSilence)
    return fmt::format("worked for {:.2f} s without calling tick(), which is due every 10 ms",
                       rec.longest_silence);
  if (rec.after_stop_seconds > kSilence || rec.after_stop > 1000)
    return fmt::format("went on for {:.2f} s and {} calls of tick() after it said stop",
                       rec.after_stop_seconds, rec.after_stop);
  if ((rec.status == TN_OK || rec.status == TN_PROVED) && rec.offers == 0)
    return "reports success and offered nothing";
  return "";
}

std::string work_limit(const Subject& s) {
  const StorageRequest r = large_request(20'000, 200);
  const RequestView view(r);
  for (std::uint64_t work : {0u, 1u, 1000u, 1'000'000u, 100'000'000u}) {
    Recorder rec(*s.planner.planner, view.raw().n_tokens, work);
    rec.run(*s.planner.planner, view.raw());
    std::string fault = obeys(rec);
    if (fault.empty()) fault = last_offer_is_right(r, rec);
    if (!fault.empty()) return fmt::format("{} tokens, {} units of work: {}", 20'000, work, fault);
  }
  return "";
}

std::string stop(const Subject& s) {
  const StorageRequest r = large_request(5'000, 100);
  const RequestView view(r);
  for (std::uint64_t at : {1u, 2u, 5u, 20u, 100u}) {
    Recorder rec(*s.planner.planner, view.raw().n_tokens, 200'000'000, at);
    rec.run(*s.planner.planner, view.raw());
    std::string fault = obeys(rec);
    if (fault.empty()) fault = last_offer_is_right(r, rec);
    if (!fault.empty()) return fmt::format("stopped at call {} of tick(): {}", at, fault);
  }
  return "";
}

std::uint64_t address_space() {
  unsigned long pages = 0;
  if (FILE* f = fopen("/proc/self/statm", "r")) {
    if (fscanf(f, "%lu", &pages) != 1) pages = 0;
    fclose(f);
  }
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string memory(const Subject& s) {
  const StorageRequest r = large_request(20'000, 200);
  const RequestView view(r);
  for (std::uint64_t more = 32 << 10; more <= 64 << 20; more *= 2) {
    Recorder rec(*s.planner.planner, view.raw().n_tokens, 20'000'000);
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    rlimit little = before;
    little.rlim_cur = address_space() + more;
    const char* thrown = nullptr;
    setrlimit(RLIMIT_AS, &little);
    try {
      rec.run(*s.planner.planner, view.raw());
    } catch (...) {
      thrown = "an exception leaves plan()";
    }
    setrlimit(RLIMIT_AS, &before);
    std::string fault = thrown ? thrown : last_offer_is_right(r, rec);
    if (!thrown && (rec.status == TN_OK || rec.status == TN_PROVED) && rec.offers == 0)
      fault = "reports success and offered nothing";
    if (!fault.empty()) return fmt::format("with {} KiB of memory left: {}", more >> 10, fault);
  }
  return "";
}

struct Job {
  const Subject* subject;
  const tn_request* request;
  Recorder* recorder;
  std::string thrown;
};

void* on_small_stack(void* p) {
  Job& job = *static_cast<Job*>(p);
  try {
    job.recorder->run(*job.subject->planner.planner, *job.request);
  } catch (...) {
    job.thrown = "an exception leaves plan()";
  }
  return nullptr;
}

std::string stack(const Subject& s) {
  for (std::uint32_t span : {2u, 2000u}) {
    const StorageRequest r = large_request(20'000, span);
    const RequestView view(r);
    Recorder rec(*s.planner.planner, view.raw().n_tokens, 50'000'000);
    Job job{&s, &view.raw(), &rec, ""};
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_t t;
    if (pthread_create(&t, &small, on_small_stack, &job) != 0) return "no thread could be started";
    pthread_join(t, nullptr);
    if (!job.thrown.empty()) return job.thrown;
    if (const std::string fault = last_offer_is_right(r, rec); !fault.empty()) return fault;
  }
  return "";
}

std::string scale(const Subject& s) {
  const StorageRequest r = large_request(60'000, 100);
  const RequestView view(r);
  Recorder rec(*s.planner.planner, view.raw().n_tokens, kDefaultWork);
  rec.run(*s.planner.planner, view.raw());
  return last_offer_is_right(r, rec);
}

}  // namespace

std::vector<Check> limit_checks() {
  return {{"work", "ticks often, and ends soon after its work is used up", 300, work_limit},
          {"stop", "obeys a stop at any call of tick()", 300, stop},
          {"memory", "an allocation that fails is TN_FAILED, not the end", 300, memory},
          {"stack", "no more than 256 KiB of stack for 20 000 tokens", 120, stack},
          {"scale", "ends within its budget on 60 000 tokens", 120, scale}};
}

}  // namespace tenon::kit
