// The three sub-slots of this lowering, and what they share.
#ifndef TENON_PLUGINS_LOWERINGS_TE_LOWERING_H
#define TENON_PLUGINS_LOWERINGS_TE_LOWERING_H

#include <string>
#include <tuple>
#include <vector>

#include "tenon/lowering.h"
#include "tenon/schedule.h"
#include "tenon/te.h"

namespace tenon::te_lowering {

struct Options {
  bool naive = false;
  std::int64_t parallel_work = 40000;
  bool fast_math = false;
  static constexpr auto fields() {
    return std::tuple{Field{"naive", &Options::naive,
                            "take the plain loops of the family `naive` for every stage"},
                      Field{"parallel_work",
                            &Options::parallel_work,
                            "scalar operations below which a kernel is not cut into chunks",
                            {.min = 0}},
                      Field{"fast_math", &Options::fast_math,
                            "transcendentals within wider bounds; the pass fast-math says so for "
                            "single primitives"}};
  }
};

/// Inlines stages, splits axes that are divided, drops axes of one element, makes axes that are
/// traversed together one.
Result<te::Compute> compute(const te::Compute& c, const TargetFacts& facts,
                            const OptionValues& options);
Result<Schedule> schedule(const te::Compute& c, const TargetFacts& facts,
                          const OptionValues& options);
Result<tir::Kernel> kernel(const te::Compute& c, const Schedule& s, const TargetFacts& facts,
                           const OptionValues& options);

/// Types and operations that no kernel of this lowering can have; error TN6204 or TN6205.
Status check_supported(const te::Compute& c);
/// Whether `s` is a schedule of `c` that the emitter can follow; error TN6203.
Status check_schedule(const te::Compute& c, const Schedule& s);

/// Output axes that loads divide by a constant become two, where no other stage loads the stage.
te::Compute split_axes(te::Compute c);
/// compute() without the inlining and splitting: te::Compute with size-1 axes gone and adjacent
/// axes joined.
te::Compute collapse(const te::Compute& c);
/// Padding of a small window with few readers, or of a long reduction over a small image, goes into
/// the reduction that loads it, where vectors do not lie across its borders.
te::Compute peel_padding(const te::Compute& c, const TargetFacts& facts, const Options& options);
/// Adds stages that copy operands which the anchor would read badly: many rows a multiple of a page
/// apart, or elements that do not lie side by side. Scheduled like padding: a panel at a time, in
/// worker scratch.
te::Compute pack_operands(const te::Compute& c, const TargetFacts& facts, const Options& options);
/// (input, output) pairs that may share memory, by the law of tir::Kernel::inplace.
std::vector<std::pair<std::uint32_t, std::uint32_t>> inplace_pairs(const te::Compute& c,
                                                                   const Schedule& s);

/// Scalar operations of a stage, all its elements together; saturates.
std::uint64_t work_of(const te::Compute& c, const te::Stage& s);
/// Elements that are all computed: product of the output axes, and of the reduction axes.
std::uint64_t volume(const std::vector<te::Axis>& axes);

}  // namespace tenon::te_lowering

#endif
