#include "single_step.h"

#include <algorithm>
#include <cstring>

#include "error.h"

namespace tenon::runtime {
namespace {

std::uint32_t id_of(const Step& s, std::size_t arg) {
  return arg < s.values.size() ? s.values[arg] : UINT32_MAX;
}

bool is_written(const Model& m, const Step& s, std::size_t arg) {
  switch (s.kind) {
    case StepKind::call:
      return arg >= m.program.kernels[s.kernel].n_inputs;
    case StepKind::copy:
      return arg == 1;
    case StepKind::loop:
      return arg == 1 || (arg >= 2 && arg % 3 == 0);
    default:
      return false;
  }
}

tn_arg_info argument(const Model& m, const Step& s, std::size_t arg) {
  static constexpr int bases[] = {TN_IN_POOL, TN_IN_INPUT, TN_IN_OUTPUT};
  const Place& p = s.args[arg];
  return {sizeof(tn_arg_info),
          bases[static_cast<unsigned>(p.base)],
          p.index,
          p.offset,
          p.bytes,
          is_written(m, s, arg),
          id_of(s, arg)};
}

/// Past jumps; the end of a body counts as its loop.
std::uint32_t as_shown(const Model& m, std::uint32_t raw) {
  const std::vector<Step>& steps = m.program.steps;
  while (raw < steps.size() && steps[raw].kind == StepKind::jump) raw = steps[raw].target;
  if (raw < steps.size() && steps[raw].kind == StepKind::turn) raw = steps[raw].target - 1;
  const auto at = std::lower_bound(m.shown.begin(), m.shown.end(), raw);
  return static_cast<std::uint32_t>(at - m.shown.begin());
}

void call(const Model& m, const Step& s, void* const* args) {
  const Kernel& k = m.program.kernels[s.kernel];
  if (k.extent == 0) return;
  void* worker = k.worker_bytes > 0 ? args[s.args.size()] : nullptr;
  if (const std::int32_t code = m.kernels[s.kernel](args, nullptr, worker, 0, k.extent); code != 0)
    throw_kernel_failure(s, k, code);
}

/// Carried value `j` from its initial value (0), or from what the body made (2).
void carry(const Step& loop, void* const* args, std::size_t from) {
  for (std::size_t j = 2; j < loop.args.size(); j += 3)
    if (loop.args[j].bytes > 0) std::memmove(args[j + 1], args[j + from], loop.args[j].bytes);
}

}  // namespace

void throw_kernel_failure(const Step& s, const Kernel& k, std::int32_t code) {
  throw Error(TN_RT_KERNEL, "step '" + s.name + "': kernel '" + k.symbol + "' failed with code " +
                                std::to_string(code));
}

std::vector<tn_arg_info> arguments(const Model& m, const Step& s) {
  std::vector<tn_arg_info> out;
  for (std::size_t i = 0; i < s.args.size(); ++i) out.push_back(argument(m, s, i));
  if (s.kind != StepKind::call) return out;
  const Kernel& k = m.program.kernels[s.kernel];
  if (k.worker_bytes > 0)
    out.push_back({sizeof(tn_arg_info), TN_IN_POOL, k.worker_pool, k.worker_offset, k.worker_bytes,
                   1, id_of(s, s.args.size())});
  return out;
}

std::uint32_t past(const Model& m, std::uint32_t shown) {
  const Step& s = m.program.steps[m.shown[shown]];
  if (s.kind != StepKind::loop) return 0;
  const auto at = std::lower_bound(m.shown.begin(), m.shown.end(), s.target);
  return static_cast<std::uint32_t>(at - m.shown.begin());
}

bool enter_loop(const Step& loop, void* const* args) {
  std::int64_t count = 0;
  std::memcpy(&count, args[0], sizeof count);
  std::memset(args[1], 0, sizeof count);
  carry(loop, args, 0);
  return count > 0;
}

bool turn_loop(const Step& loop, void* const* args) {
  std::int64_t count = 0, i = 0;
  std::memcpy(&count, args[0], sizeof count);
  std::memcpy(&i, args[1], sizeof i);
  carry(loop, args, 2);
  ++i;
  std::memcpy(args[1], &i, sizeof i);
  return i < count;
}

std::uint32_t run_step(const Model& m, std::uint32_t shown, bool turn, void* const* args) {
  const std::uint32_t raw = m.shown[shown];
  const Step& s = m.program.steps[raw];
  std::uint32_t next = raw + 1;
  switch (s.kind) {
    case StepKind::call:
      call(m, s, args);
      break;
    case StepKind::copy:
      std::memmove(args[1], args[0], s.args[0].bytes);
      break;
    case StepKind::branch:
      if (*static_cast<const std::byte*>(args[0]) == std::byte{0}) next = s.target;
      break;
    default:
      if (!(turn ? turn_loop(s, args) : enter_loop(s, args))) next = s.target;
  }
  return as_shown(m, next);
}

}  // namespace tenon::runtime
