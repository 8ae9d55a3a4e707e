// stack
// One call deep per token.
#include "first_fit.hpp"

static std::uint64_t place(tenon::Placer& placer, const tenon::Request& q, std::uint32_t i) {
  volatile char frame[64] = {};
  if (i == q.size()) return 0;
  if (!placer.placed(i))
    for (std::uint32_t p : q.pools(i))
      if (const auto s = placer.lowest(i, p)) {
        placer.put(i, *s);
        break;
      }
  return place(placer, q, i + 1) + static_cast<std::uint64_t>(frame[i % 64]) +
         (placer.placed(i) ? 0 : 1);
}

static int plan(const tn_request* q, const tn_host* h) {
  tenon::Placer placer{tenon::Request(*q)};
  if (place(placer, tenon::Request(*q), 0) != 0) return TN_NO_FIT;
  return h->offer(h, placer.data(), 0), TN_OK;
}

BAD_PLANNER("recurses", "Deep");
