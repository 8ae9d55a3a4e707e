// What request, plan and program say: the facts that a finding goes back to.
#ifndef TENON_CORE_BLAME_FACTS_H
#define TENON_CORE_BLAME_FACTS_H

#include "core/blame/blame.h"

namespace tenon::blame {

/// "12 `conv/x`"; past the end: "the end of the run".
std::string step_text(const Subject& s, std::uint32_t step);
Party party(const Subject& s, const Arg& a);
/// "pool ram [0, 4096)".
std::string place_text(const Party& p);

/// Is this argument's value live in the step, as the request has it? The caller's always is.
bool live(const Subject& s, const Arg& a, std::uint32_t step);
/// "" when the program has the argument where the plan has its token; else who says what.
std::string misplaced(const Subject& s, const Arg& a);
/// Does the request let the token of `b` take the place of that of `a`?
bool joined(const Subject& s, const Arg& a, const Arg& b);
bool overlap(const Arg& a, const Arg& b);

/// Who stands in the plan, in step `step`, on bytes [lo, hi) counted from the place of `a`'s block;
/// another block.
std::optional<Party> neighbour(const Subject& s, const Arg& a, std::int64_t lo, std::int64_t hi,
                               std::uint32_t step);

/// A step's argument, by number.
struct ArgOf {
  std::uint32_t step = 0, arg = 0;
};
/// The last step before `step` that wrote over `a`, in place of another block; none when `a` was
/// itself written after that.
std::optional<ArgOf> overwriter(const Subject& s, const Arg& a, std::uint32_t step);

/// What is wrong with request and program whatever the values are: a value that is used outside of
/// its life, or stands elsewhere than the plan says.
std::optional<Finding> contradiction(const Subject& s);

}  // namespace tenon::blame

#endif
