// Steps one by one, in memory of the caller's: for debuggers. Numbers of steps are those that
// people see: jumps do not count.
#ifndef TENON_SDK_RUNTIME_SINGLE_STEP_H
#define TENON_SDK_RUNTIME_SINGLE_STEP_H

#include "model.h"

namespace tenon::runtime {

/// The arguments, and behind them the worker scratch of a call that has it.
std::vector<tn_arg_info> arguments(const Model& m, const Step& s);

/// Of a loop: the first step behind its body; else 0.
std::uint32_t past(const Model& m, std::uint32_t shown);

/// Throws Error (TN_RT_KERNEL) with the names of the step and its kernel.
[[noreturn]] void throw_kernel_failure(const Step& s, const Kernel& k, std::int32_t code);
/// Whether the body of a loop runs, or (`turn`) runs once more: false behind it.
bool enter_loop(const Step& loop, void* const* args);
bool turn_loop(const Step& loop, void* const* args);
/// The step that runs then; after the body of a loop the loop itself, to be turned. Throws as
/// above.
std::uint32_t run_step(const Model& m, std::uint32_t shown, bool turn, void* const* args);

}  // namespace tenon::runtime

#endif
