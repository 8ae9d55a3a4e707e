// The contract of the C boundary: strides, no writes, the same answer always. (The host checks the
// table of options when it loads a planner.)
#include <alloca.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "core/kit/planner_kit.h"
#include "core/kit/recorder.h"
#include "core/kit/requests.h"
#include "core/storage/request_view.h"
#include "core/support/isolated.h"

namespace tenon::kit {
namespace {

/// Requests as the boundary checks ask them.
std::vector<StorageRequest> sample() {
  std::vector<StorageRequest> out;
  for (const NamedRequest& c : fixed_requests()) out.push_back(c.request);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) out.push_back(random_request(seed, {}));
  out.push_back(large_request(300, 20));
  return out;
}

constexpr std::uint64_t kWork = 1'000'000;

std::uint64_t digest_of(const Subject& s, const tn_request& view) {
  if (view.needs & ~s.planner.planner->understands) return 0;
  Recorder r(*s.planner.planner, view.n_tokens, kWork);
  r.run(*s.planner.planner, view);
  return r.digest;
}

std::string strides(const Subject& s) {
  for (const StorageRequest& r : sample()) {
    const std::uint64_t usual = digest_of(s, RequestView(r).raw());
    for (std::size_t extra : {8u, 24u, 104u})
      if (digest_of(s, RequestView(r, extra).raw()) != usual)
        return fmt::format(
            "another plan when tokens and pools are {} bytes longer, as those of a "
            "newer host may be: reach them with tn_token_at and tn_pool_at",
            extra);
  }
  return "";
}

/// Copies into pages that cannot be written, ending at one that cannot be read.
class Fenced {
 public:
  const void* add(const void* data, std::size_t bytes, std::size_t align) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t room = (bytes + page - 1) / page * page + page;
    auto* base = static_cast<std::byte*>(
        mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED) throw std::bad_alloc();
    std::byte* at = base + (room - page - bytes) / align * align;
    if (bytes) memcpy(at, data, bytes);
    mprotect(base, room, PROT_READ);
    mprotect(base + room - page, page, PROT_NONE);
    return at;
  }
};

std::string read_only(const Subject& s) {
  for (const StorageRequest& r : sample()) {
    const RequestView view(r);
    Fenced fenced;
    tn_request q = view.raw();
    q.pools = static_cast<const tn_pool*>(
        fenced.add(q.pools, std::size_t{q.n_pools} * q.pool_stride, alignof(tn_pool)));
    q.tokens = static_cast<const tn_token*>(
        fenced.add(q.tokens, std::size_t{q.n_tokens} * q.token_stride, alignof(tn_token)));
    q.joins = static_cast<const tn_join*>(
        fenced.add(q.joins, std::size_t{q.n_joins} * sizeof(tn_join), alignof(tn_join)));
    digest_of(s, *static_cast<const tn_request*>(fenced.add(&q, sizeof q, alignof(tn_request))));
  }
  return "";
}

/// In a process with another environment and another heap, after other work.
std::string digests(const Subject& s, unsigned variant) {
  auto* deeper = static_cast<volatile char*>(alloca(variant * 5000 + 1));  // another stack as well
  deeper[0] = 0;
  setenv("LC_ALL", variant % 2 ? "C" : "de_DE.UTF-8", 1);
  setenv("TENON_KIT_VARIANT", std::to_string(variant).c_str(), 1);
  std::vector<std::unique_ptr<char[]>> ballast;
  for (unsigned i = 0; i < variant * 37; ++i)
    ballast.push_back(std::make_unique<char[]>(64 + i * variant));
  const std::vector<StorageRequest> all = sample();
  if (variant % 3 == 1)  // an answer must not depend on earlier questions
    for (std::size_t i = all.size(); i-- > 0;) digest_of(s, RequestView(all[i]).raw());
  std::string out;
  for (const StorageRequest& r : all)
    out += fmt::format("{:x} ", digest_of(s, RequestView(r).raw()));
  return out;
}

std::string determinism(const Subject& s) {
  std::string first;
  for (unsigned variant = 0; variant < 20; ++variant) {
    const ChildResult o =
        run_isolated(std::chrono::seconds(60), [&] { return digests(s, variant); });
    if (!o.returned) return o.text;
    if (variant == 0) first = o.text;
    if (o.text != first)
      return "the same requests got other plans in another process: no global state, clock, "
             "environment, address or hash order may decide";
  }
  return "";
}

std::string threads(const Subject& s) {
  const std::vector<StorageRequest> all = sample();
  std::vector<std::uint64_t> alone;
  for (const StorageRequest& r : all) alone.push_back(digest_of(s, RequestView(r).raw()));
  std::atomic<int> differ = 0;
  const auto work = [&](bool backwards) {
    for (int round = 0; round < 5; ++round)
      for (std::size_t k = 0; k < all.size(); ++k) {
        const std::size_t i = backwards ? all.size() - 1 - k : k;
        differ += digest_of(s, RequestView(all[i]).raw()) != alone[i];
      }
  };
  std::thread other(work, true);
  work(false);
  other.join();
  return differ == 0 ? ""
                     : fmt::format("{} plans differ when two threads plan at once", differ.load());
}

}  // namespace

std::vector<Check> contract_checks() {
  return {{"strides", "longer tokens and pools, as of a newer host, change nothing", 120, strides},
          {"read-only", "the request is not written, nothing past it is read", 120, read_only},
          {"determinism", "every process gives the same plans; 20 are tried", 600, determinism},
          {"threads", "two threads give the plans of one", 300, threads}};
}

}  // namespace tenon::kit
