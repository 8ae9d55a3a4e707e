// From what a trial showed to a sentence: who met whom, in which step, and which fact let them.
#ifndef TENON_CORE_BLAME_EXPLAIN_H
#define TENON_CORE_BLAME_EXPLAIN_H

#include "core/blame/facts.h"
#include "core/blame/trial.h"

namespace tenon::blame {

/// The first run alone did not end well: a kernel did something to memory that it was not given.
Finding explain_alone(const Subject& s, const Outcome& o);
/// The answer depends on what `block` holds before anything is written there, or (`margin`) on what
/// stands behind it.
Finding explain_unwritten(const Subject& s, const Outcome& o, std::uint32_t block, bool margin);
/// It takes `needed` where the program has them. `align`: what a lone block turned out to need, or
/// 0.
Finding explain_sharing(const Subject& s, const Outcome& o,
                        const std::vector<std::uint32_t>& needed, std::uint64_t align);

/// Two kinds that are seen without a trial too. `by`: who overwrote it.
Finding used_after_life(const Subject& s, std::uint32_t step, const Arg& a,
                        std::optional<ArgOf> by);
Finding stands_elsewhere(const Subject& s, std::uint32_t step, const Arg& a,
                         const std::string& why);

}  // namespace tenon::blame

#endif
