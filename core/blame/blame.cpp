#include "core/blame/blame.h"

#include <fmt/format.h>

#include <numeric>

#include "core/blame/explain.h"
#include "core/blame/narrow.h"
#include "core/blame/trial.h"

namespace tenon::blame {
namespace {

using Blocks = std::vector<std::uint32_t>;
using Kind = Outcome::Kind;

class Trials {
 public:
  Trials(const Subject& s, Bench bench, const std::function<void(const std::string&)>& progress)
      : s_(s), bench_(std::move(bench)), progress_(progress) {}

  Result<Report> run() {
    Report out{.trials = 0, .finding = find()};
    out.trials = bench_.trials();
    if (!no_process_) return out;
    return Diag{.code = 8107,
                .what = fmt::format("trial {} could not be started", out.trials),
                .fix = "free memory, or allow more processes"};
  }

 private:
  std::optional<Finding> find() {
    say("every value in storage of its own");
    if (const Outcome o = seen(bench_.watch()); o.kind != Kind::agrees) return explain_alone(s_, o);
    if (auto f = unwritten()) return f;
    auto shared = sharing();
    if (shared && shared->diag.code != 4528) return shared;
    if (auto f = contradiction(s_)) return f;  // says more than 4528, which knows no fact
    return shared;
  }

  void say(const std::string& what) {
    progress_(fmt::format("trial {}: {}", bench_.trials() + 1, what));
  }

  Blocks all() const {
    Blocks out(s_.blocks.size());
    std::iota(out.begin(), out.end(), 0u);
    return out;
  }
  std::vector<bool> set_of(const Blocks& blocks) const {
    std::vector<bool> out(s_.blocks.size());
    for (const std::uint32_t b : blocks) out[b] = true;
    return out;
  }
  Outcome compare(const Setup& setup, const std::string& what) {
    say(what);
    return seen(bench_.compare(setup));
  }
  Outcome seen(const Outcome& o) {
    no_process_ |= o.kind == Kind::no_process;
    return o;
  }

  /// Does anything depend on bytes that no step wrote?
  std::optional<Finding> unwritten() {
    const auto other = [&](const Blocks& blocks, bool contents, bool margin) {
      const std::vector<bool> set = set_of(blocks), empty;
      return compare(
          {.together = {}, .contents = contents ? set : empty, .margin = margin ? set : empty},
          fmt::format("other bytes in and around {} of them", blocks.size()));
    };
    if (other(all(), true, true).kind == Kind::agrees) return std::nullopt;
    const Blocks needed =
        narrow(all(), [&](const Blocks& b) { return other(b, true, true).kind != Kind::agrees; });
    if (needed.empty()) return unsteady();
    const Outcome margin = other(needed, false, true);
    if (margin.kind != Kind::agrees) return explain_unwritten(s_, margin, needed[0], true);
    return explain_unwritten(s_, other(needed, true, true), needed[0], false);
  }

  std::optional<Finding> sharing() {
    const auto together = [&](const Blocks& blocks) {
      return compare(
          {.together = set_of(blocks)},
          fmt::format("{} of {} as planned, the others apart", blocks.size(), s_.blocks.size()));
    };
    if (together(all()).kind == Kind::agrees) return std::nullopt;
    const Blocks needed =
        narrow(all(), [&](const Blocks& b) { return together(b).kind != Kind::agrees; });
    if (needed.empty()) return unsteady();
    const Outcome o = together(needed);
    return explain_sharing(s_, o, needed, needed.size() == 1 ? alignment_of(needed[0]) : 0);
  }

  /// The alignment from which on a block works in storage of its own, when it does not work at the
  /// alignment that it is planned at; else 0.
  std::uint64_t alignment_of(std::uint32_t block) {
    const auto works = [&](std::uint64_t by) {
      return compare({.together = {}, .moved = block, .by = by},
                     fmt::format("`{}` {} bytes behind a page", s_.blocks[block].name, by))
                 .kind == Kind::agrees;
    };
    const Slot slot = s_.plan->slots[block];
    if (s_.blocks[block].kind != Block::Kind::token || works(slot.offset % page)) return 0;
    for (std::uint64_t by = 1; by < page; by *= 2)
      if (works(by)) return by;
    return page;
  }

  /// It fails with nothing changed: twice the same is not the same.
  Finding unsteady() {
    const Outcome o = compare({}, "the same twice");
    Finding f{.kind = "unsteady", .step = o.step, .parties = {}, .fact = "", .diag = {}};
    f.diag = {
        .code = 4523,
        .what = fmt::format("{} gives other results from run to run, or by address, with every "
                            "value in storage of its own",
                            step_text(s_, o.step)),
        .fix = "correct the kernel; the plan is not to blame"};
    return f;
  }

  const Subject& s_;
  Bench bench_;
  const std::function<void(const std::string&)>& progress_;
  bool no_process_ = false;
};

}  // namespace

Result<Report> blame(const Subject& s, const std::vector<Tensor>& inputs,
                     const std::function<void(const std::string&)>& progress) {
  auto bench = Bench::make(s, inputs);
  if (!bench) return bench.errors();
  return Trials(s, std::move(*bench), progress).run();
}

}  // namespace tenon::blame
