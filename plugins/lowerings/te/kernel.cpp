// (compute, schedule) -> kernel: buffers, the loops of all stages, facts about the whole.
#include <algorithm>

#include "lowering.h"
#include "nest.h"

namespace tenon::te_lowering {

namespace {

std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  return checked_mul(a, b).value_or(UINT64_MAX);
}

std::vector<std::int64_t> row_major(const Shape& shape) {
  std::vector<std::int64_t> stride(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;)
    stride[d - 1] = stride[d] * std::max<std::int64_t>(shape[d], 1);
  return stride;
}

/// Inputs and outputs need only the alignment of their elements, so views at any offset work.
BufferId add_buffer(Code& code, std::string name, const te::Compute& c, std::uint32_t tensor,
                    tir::Scope scope) {
  tir::Kernel& k = code.kernel();
  const auto id = static_cast<BufferId>(k.buffers.size());
  const DType t = c.dtype_of(tensor);
  k.buffers.push_back({.name = std::move(name),
                       .dtype = t,
                       .elements = elements(TensorType(t, c.shape_of(tensor))).value_or(0),
                       .scope = scope,
                       .arg = id,
                       .align = scope == tir::Scope::shared ? 64 : bits(t) / 8});
  code.set_floor(id, 0);
  return id;
}

/// Scalar operations that every call does before its first iteration.
std::uint64_t work_per_call(const te::Compute& c, const Schedule& s) {
  std::uint64_t n = 0;
  for (std::uint32_t st = 0; st < c.stages.size(); ++st) {
    const StageSchedule& x = s.stages[st];
    if (x.place != Place::worker || x.at_loop != 0) continue;
    const auto& loops = s.stages[x.at_stage].loops;
    if (!loops.empty() && loops[0].kind == LoopKind::parallel)
      n = checked_add(n, work_of(c, c.stages[st])).value_or(UINT64_MAX);
  }
  return n;
}

/// Least number of iterations that is worth handing to another thread: what the call does once
/// stays a tenth.
std::int64_t grain_of(const tir::Kernel& k, std::uint64_t per_call, std::int64_t parallel_work) {
  if (k.extent <= 1) return 1;
  parallel_work = static_cast<std::int64_t>(
      std::max<std::uint64_t>(static_cast<std::uint64_t>(parallel_work),
                              std::min<std::uint64_t>(saturating_mul(10, per_call), INT64_MAX)));
  const std::uint64_t each =
      std::max<std::uint64_t>(1, k.work / static_cast<std::uint64_t>(k.extent));
  const std::int64_t n =
      parallel_work / static_cast<std::int64_t>(std::min<std::uint64_t>(each, INT64_MAX)) + 1;
  return std::clamp<std::int64_t>(n, 1, k.extent);
}

}  // namespace

std::uint64_t volume(const std::vector<te::Axis>& axes) {
  std::uint64_t n = 1;
  for (const te::Axis& a : axes) n = saturating_mul(n, static_cast<std::uint64_t>(a.extent));
  return n;
}

std::uint64_t work_of(const te::Compute& c, const te::Stage& s) {
  std::uint64_t body = 0, epilogue = 0;
  te::ExprId folded = te::none;
  for (te::ExprId id : te::reachable(c, s.value))
    if (c.exprs[id].kind == te::Kind::reduce) folded = c.exprs[id].args[0];
  const auto cost = [&](te::ExprId root) {
    std::uint64_t n = 1;
    for (te::ExprId id : te::reachable(c, root)) {
      const te::Expr& e = c.exprs[id];
      if (e.kind == te::Kind::scalar)
        n += is_transcendental(e.op) ? 20 : e.dtype == DType::i64 ? 0 : 1;
    }
    return n;
  };
  epilogue = cost(s.value);
  if (folded != te::none) body = saturating_mul(cost(folded), volume(s.reduce));
  return saturating_mul(volume(s.axes), checked_add(body, epilogue).value_or(UINT64_MAX));
}

Result<tir::Kernel> kernel(const te::Compute& c, const Schedule& s, const TargetFacts& target,
                           const OptionValues& values) {
  if (Status ok = check_supported(c); !ok) return std::move(ok).take();
  if (Status ok = check_schedule(c, s); !ok) return std::move(ok).take();
  const Options options = read_options<Options>(values);
  Code code(target.has("avx512f") && target.vector_bytes >= 64);
  Nest nest(code, c, s, options.fast_math);
  for (std::uint32_t i = 0; i < c.inputs.size(); ++i) {
    const Shape shape = c.shape_of(i);
    const BufferId b = add_buffer(code, "in" + std::to_string(i), c, i, tir::Scope::input);
    nest.set_memory(i, {b, row_major(shape), std::vector<Lin>(shape.size())});
  }
  const auto add_stage = [&](std::uint32_t stage, std::string name, tir::Scope scope) {
    const std::uint32_t t = c.tensor_of_stage(stage);
    const Shape shape = c.shape_of(t);
    nest.set_memory(t, {add_buffer(code, std::move(name), c, t, scope), row_major(shape),
                        std::vector<Lin>(shape.size())});
  };
  for (std::uint32_t k = 0; k < c.outputs.size(); ++k)
    add_stage(c.outputs[k], "out" + std::to_string(k), tir::Scope::output);
  for (std::uint32_t st = 0; st < c.stages.size(); ++st)
    if (s.stages[st].place == Place::shared) add_stage(st, c.stages[st].name, tir::Scope::shared);
  nest.emit();
  tir::Kernel k = code.finish();
  k.symbol = "kernel";
  k.worker_bytes = nest.worker_bytes();
  for (const te::Stage& st : c.stages)
    k.work = checked_add(k.work, work_of(c, st)).value_or(UINT64_MAX);
  k.grain = grain_of(k, work_per_call(c, s), options.parallel_work);
  k.inplace = inplace_pairs(c, s);
  return k;
}

}  // namespace tenon::te_lowering
