// A plan that stands in a file, frozen from an earlier run or made by hand: places each token by
// its name and decides nothing. Names that the request does not have, tokens that the file does not
// place, and pools that do not exist are named, and no plan is made; what the file says is judged
// like any planner's offer. Prefer it to keep a layout while a model or a compiler changes; chain
// another planner by `else:` for the day it no longer fits. Cost: O(n log n). The one planner that
// reads a file: its plan depends on what stands there.
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "placements.h"
#include "tenon/planner.hpp"
#include "tenon/planning/host.h"

namespace {

using tenon::file_planner::Placement;
using tenon::file_planner::Placements;

constexpr std::size_t kMaxSaid = 20;

class Frozen {
 public:
  Frozen(const tn_request* raw, const tn_host* h)
      : q_(*raw), h_(h), path_(h->option(h, "path")), slots_(q_.size()), placed_(q_.size(), 0) {}

  int plan() {
    if (path_.empty()) return say(UINT32_MAX, "set the option `path`: a plan (.json or .csv)");
    std::ifstream in(path_, std::ios::binary);
    if (!in) return say(UINT32_MAX, path_ + ": cannot be read");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const Placements file = tenon::file_planner::read_placements(text);
    for (const std::string& e : file.errors) say(UINT32_MAX, path_ + ": " + e);
    if (!file.errors.empty()) return TN_FAILED;
    for (std::uint32_t i = 0; i < q_.size(); ++i) token_of_.emplace(q_[i].name, i);
    for (const Placement& p : file.rows) place(p);
    for (std::uint32_t i = 0; i < q_.size(); ++i) complete(i);
    h_->tick(h_, 10ull * q_.size());
    if (said_ > 0) return TN_FAILED;
    h_->offer(h_, slots_.data(), 0);
    return TN_OK;
  }

 private:
  int say(std::uint32_t token, const std::string& text) {
    if (++said_ <= kMaxSaid) h_->say(h_, token, text.c_str());
    return TN_FAILED;
  }

  void place(const Placement& p) {
    const std::string at = path_ + ", " + p.where + ": ";
    const auto it = token_of_.find(p.token);
    if (it == token_of_.end()) {
      say(UINT32_MAX, at + "the request has no token '" + p.token + "'");
      return;
    }
    const std::uint32_t i = it->second;
    if (placed_[i]) say(i, at + "placed twice");
    placed_[i] = 1;
    std::uint32_t pool = q_[i].pools[0];
    if (!p.pool.empty()) {
      pool = 0;
      while (pool < q_.n_pools() && p.pool != q_.pool(pool).name) ++pool;
      if (pool == q_.n_pools()) say(i, at + "the request has no pool '" + p.pool + "'");
    }
    slots_[i] = {pool, p.offset};
  }

  // A pinned token needs no row.
  void complete(std::uint32_t i) {
    if (placed_[i]) return;
    if (q_[i].at == TN_ANY)
      say(i, path_ + " does not place it");
    else
      slots_[i] = {q_[i].pools[0], q_[i].at};
  }

  tenon::Request q_;
  const tn_host* h_;
  std::string path_;
  std::vector<tn_slot> slots_;
  std::vector<char> placed_;
  std::map<std::string, std::uint32_t, std::less<>> token_of_;
  std::size_t said_ = 0;
};

int plan(const tn_request* raw, const tn_host* h) {
  return tenon::planning::guarded(h, [&] { return Frozen(raw, h).plan(); });
}

const tn_option kOptions[] = {{"path", "string", "", "",
                               "the plan: .json as `tenon plan solve -o` writes it, or .csv with "
                               "id, offset and pool; relative "
                               "to the directory that tenon runs in"}};

}  // namespace

TENON_PLANNER("tenon.file", "0.1.0", "A plan from a file, frozen or made by hand, by token name",
              TN_POOLS | TN_PINS, plan, kOptions);
