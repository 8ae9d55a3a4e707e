// What this lowering refuses, by name, before any code is made.
#include <algorithm>
#include <string>

#include "lowering.h"
#include "math.h"
#include "tensorise.h"

namespace tenon::te_lowering {

namespace {

Diag bad_schedule(const te::Stage& s, std::string what) {
  return {
      .code = 6203,
      .what = "the schedule of stage '" + s.name + "' " + std::move(what),
      .fix = "see sdk/docs/errors/TN6203.md for the rules, or leave the schedule to the lowering"};
}

Status check_tensor(const te::Compute& c, const te::Stage& s, const StageSchedule& x,
                    std::uint32_t axis, std::int64_t step) {
  const auto products = byte_products(c, s);
  if (!products || products->axis != axis || step != tensor_steps)
    return bad_schedule(s, "has a tensor loop over axis " + std::to_string(axis) + " in steps of " +
                               std::to_string(step) +
                               ": such a loop takes the 4 steps of a sum of products of u8 and i8 "
                               "that lie side by side");
  for (const LoopSpec& l : x.loops)
    for (const Access* a : {&products->x, &products->y})
      if (l.kind == LoopKind::vector && a->step[l.axis] != 0 && a->step[l.axis] != tensor_steps)
        return bad_schedule(s,
                            "has a tensor loop, and a vector loop along which the bytes that it "
                            "multiplies do not lie in groups of 4 side by side");
  return {};
}

Status check_loops(const te::Compute& c, const te::Stage& s, const StageSchedule& x) {
  const std::size_t n_out = s.axes.size(), n = n_out + s.reduce.size();
  bool parallel_over = false, in_reduction = false;
  std::vector<bool> complete(n, false), seen(n, false);
  int vectors = 0;
  for (std::size_t i = 0; i < x.loops.size(); ++i) {
    const LoopSpec& l = x.loops[i];
    if (l.axis >= n)
      return bad_schedule(s, "names axis " + std::to_string(l.axis) + " of " + std::to_string(n));
    if (l.step < 1) return bad_schedule(s, "has a loop of step " + std::to_string(l.step));
    if (complete[l.axis])
      return bad_schedule(s,
                          "goes on with axis " + std::to_string(l.axis) + " after its last loop");
    const bool parallel = l.kind == LoopKind::parallel, reduction = l.axis >= n_out;
    if (parallel && (parallel_over || reduction || seen[l.axis] || x.place == Place::worker))
      return bad_schedule(s,
                          "has a parallel loop in loop " + std::to_string(i) +
                              ": such loops come first, over different output axes of an output");
    parallel_over |= !parallel;
    in_reduction |= reduction;
    if (in_reduction && !reduction && l.kind == LoopKind::serial)
      return bad_schedule(
          s, "has the serial output loop " + std::to_string(i) + " inside a reduction loop");
    if (l.kind == LoopKind::vector && (++vectors > 1 || l.step > 64))
      return bad_schedule(s, "needs one vector loop of at most 64 lanes");
    if (l.kind == LoopKind::tensor) {
      if (seen[l.axis]) return bad_schedule(s, "has another loop over the axis of a tensor loop");
      if (Status ok = check_tensor(c, s, x, l.axis, l.step); !ok) return ok;
    }
    complete[l.axis] = l.step == 1 || l.kind == LoopKind::vector || l.kind == LoopKind::tensor;
    seen[l.axis] = true;
  }
  for (std::size_t k = 0; k < n; ++k)
    if (!complete[k]) {
      const std::int64_t extent = k < n_out ? s.axes[k].extent : s.reduce[k - n_out].extent;
      if (extent > 1 || (extent == 0 && k >= n_out))
        return bad_schedule(
            s, "leaves axis " + std::to_string(k) + " without a loop of step 1 or a vector loop");
    }
  return {};
}

}  // namespace

Status check_supported(const te::Compute& c) {
  const auto tensor = [](DType t, const std::string& what) -> Status {
    if (bits(t) >= 8) return {};
    return Diag{.code = 6204,
                .what = what + " has elements of type " + std::string(name(t)) + " (" +
                        std::to_string(bits(t)) +
                        " bits), the lowering tenon.te handles whole bytes",
                .fix = "unpack the tensor to i8 or u8 first"};
  };
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (Status s = tensor(c.inputs[i].dtype, "input " + std::to_string(i)); !s) return s;
  for (const te::Stage& st : c.stages) {
    if (Status s = tensor(st.dtype, "stage '" + st.name + "'"); !s) return s;
    for (te::ExprId id : te::reachable(c, st.value)) {
      const te::Expr& e = c.exprs[id];
      if (e.kind != te::Kind::scalar) continue;
      const DType t = c.exprs[e.args[0]].dtype;
      if (!supported(e.op, t))
        return Diag{.code = 6205,
                    .what = "stage '" + st.name + "' computes " + std::string(name(e.op)) + " of " +
                            std::string(name(t)) +
                            ", for which the lowering tenon.te has no expansion",
                    .fix = "compute it in f32, or leave the operation to a vendor"};
    }
  }
  return {};
}

Status check_schedule(const te::Compute& c, const Schedule& s) {
  if (s.stages.size() != c.stages.size())
    return Diag{.code = 6203,
                .what = "the schedule has " + std::to_string(s.stages.size()) +
                        " stages, the compute has " + std::to_string(c.stages.size())};
  for (std::uint32_t i = 0; i < c.stages.size(); ++i) {
    const StageSchedule& x = s.stages[i];
    const bool is_output = std::find(c.outputs.begin(), c.outputs.end(), i) != c.outputs.end();
    if (is_output != (x.place == Place::output))
      return bad_schedule(c.stages[i],
                          is_output ? "must have place output" : "has place output, but is none");
    if (Status ok = check_loops(c, c.stages[i], x); !ok) return ok;
    if (x.place != Place::worker) continue;
    if (x.at_stage <= i || x.at_stage >= c.stages.size())
      return bad_schedule(
          c.stages[i], "is attached to stage " + std::to_string(x.at_stage) + ", not a later one");
    const auto& outer = s.stages[x.at_stage].loops;
    bool tile = false;
    for (std::size_t k = 0; k < x.at_loop && k < outer.size(); ++k)
      tile |= outer[k].axis >= c.stages[x.at_stage].axes.size() ||
              outer[k].kind == LoopKind::unroll || outer[k].kind == LoopKind::vector;
    if (x.at_loop > outer.size() || tile ||
        (x.at_loop > 0 && x.at_loop < outer.size() && outer[x.at_loop].kind == LoopKind::parallel))
      return bad_schedule(c.stages[i],
                          "is attached inside the register tile or between parallel loops");
  }
  // Who loads a worker stage stands inside the loops where it is computed.
  for (std::uint32_t u = 0; u < c.stages.size(); ++u)
    for (te::ExprId id : te::reachable(c, c.stages[u].value)) {
      const te::Expr& e = c.exprs[id];
      if (e.kind != te::Kind::load || c.is_input(e.n)) continue;
      const auto p = e.n - static_cast<std::uint32_t>(c.inputs.size());
      const StageSchedule& x = s.stages[p];
      if (x.place != Place::worker) continue;
      const StageSchedule& y = s.stages[u];
      const bool within =
          y.place == Place::worker && y.at_stage == x.at_stage && y.at_loop >= x.at_loop;
      if (u != x.at_stage && !within)
        return bad_schedule(
            c.stages[p], "is in worker scratch, out of reach of stage '" + c.stages[u].name + "'");
    }
  std::size_t whole = 0;
  bool parallel = false;
  for (const StageSchedule& x : s.stages) {
    whole += x.place != Place::worker;
    parallel |= !x.loops.empty() && x.loops[0].kind == LoopKind::parallel;
  }
  if (whole > 1 && parallel)
    return Diag{.code = 6203,
                .what = "the schedule has parallel loops and " + std::to_string(whole) +
                        " stages that are computed whole; parallel loops need exactly one"};
  return {};
}

}  // namespace tenon::te_lowering
