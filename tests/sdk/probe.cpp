// Loads plugin files into a session of their own and says what they offer; runs each planner on a
// small request. The test of the installed package runs it with the installed libtenon.
//   tenon-sdk-probe LIB_DIR FILE...     LIB_DIR: where libtenon is expected to have been loaded
//   from
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "core/plugin_host/session.h"

namespace {

using namespace tenon;  // NOLINT: an executable's main file

int fail(const Diags& why) {
  for (const Diag& d : why) fmt::print(stderr, "error[TN{:04}]: {}\n", d.code, d.what);
  return 1;
}

/// Three tokens: two that live together, one pinned; a right plan has [0,64) pinned and the others
/// apart.
bool plan_small(const tn_planner& planner) {
  const std::uint32_t pools[] = {0};
  const std::uint64_t cost[] = {0};
  const tn_pool pool{"ram", 4096, 16};
  const tn_token tokens[] = {{"a", 100, 16, TN_ANY, 0, 2, pools, cost, 1, 0, nullptr},
                             {"b", 200, 32, TN_ANY, 1, 3, pools, cost, 1, 0, nullptr},
                             {"io", 64, 16, 0, 0, 3, pools, cost, 1, 0, nullptr}};
  tn_request q{};
  q.struct_size = sizeof q;
  q.pool_stride = sizeof(tn_pool);
  q.token_stride = sizeof(tn_token);
  q.n_pools = 1, q.n_tokens = 3, q.n_steps = 3;
  q.needs = TN_PINS;
  q.pools = &pool;
  q.tokens = tokens;
  std::vector<tn_slot> plan;
  tn_host host{};
  host.struct_size = sizeof host;
  host.self = &plan;
  host.tick = [](const tn_host*, std::uint64_t) { return 0; };
  host.offer = [](const tn_host* h, const tn_slot* s, std::uint64_t) {
    static_cast<std::vector<tn_slot>*>(h->self)->assign(s, s + 3);
    return 0;
  };
  host.say = [](const tn_host*, std::uint32_t, const char* text) {
    fmt::print(stderr, "{}\n", text);
  };
  host.option = [](const tn_host*, const char*) -> const char* { return nullptr; };
  if (planner.plan(&q, &host) > TN_PROVED || plan.size() != 3) return false;
  const auto &a = plan[0], &b = plan[1], &io = plan[2];
  const bool apart = a.offset + 100 <= b.offset || b.offset + 200 <= a.offset;
  return io.offset == 0 && a.offset >= 64 && b.offset >= 64 && b.offset % 32 == 0 && apart;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::error_code ec;
  if (!std::filesystem::equivalent(library_folder(), argv[1], ec)) {
    fmt::print(stderr, "libtenon is that of {}, not of {}\n", library_folder(), argv[1]);
    return 1;
  }
  auto session = open_session({.plugin_paths = {argv + 2, argv + argc}, .shipped = false});
  if (!session) return fail(session.errors());
  for (const PassInfo* p : session->passes()) fmt::print("pass {}\n", p->id);
  for (const std::string& op : session->ops()->names())
    if (op.find('.') != op.npos) fmt::print("op {}\n", op);
  for (const PlannerInfo* p : session->planners())
    fmt::print("planner {} {}\n", p->id, plan_small(*p->planner) ? "plans" : "FAILS");
  if (const Diags why = session->warnings(); !why.empty()) return fail(why);
  return 0;
}
