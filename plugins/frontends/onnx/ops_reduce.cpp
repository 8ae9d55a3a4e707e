// Reductions, searches and running sums along axes.
#include <fmt/format.h>

#include <array>

#include "plugins/frontends/onnx/steps.h"

namespace tenon::onnx_import {
namespace {

using Ints = std::vector<std::int64_t>;

/// Attributes of a reduction; none: the input is passed on as it is.
struct Reduction {
  bool over_nothing = false;
  Attrs attrs;
  Attrs kept() const { return Attrs{{"axes", *attrs.get<Ints>("axes")}, {"keepdims", true}}; }
};

/// Axes are an attribute, or an input since opset 18 (13 for sums).
Result<Reduction> reduction_of(NodeImport& n) {
  std::optional<Ints> axes = n.ints("axes");
  if (n.has(1)) {
    axes = n.const_ints(1);
    if (!axes) return n.fail("the axes are computed at run time", "make them constant");
  }
  const bool none = !axes || axes->empty();
  if (none && n.integer("noop_with_empty_axes", 0) != 0) return Reduction{true, {}};
  Ints all;
  for (std::int64_t i = 0; none && i < n.rank(0); ++i) all.push_back(i);
  for (std::size_t i = 0; !none && i < axes->size(); ++i) {
    auto k = axis_in((*axes)[i], n.rank(0));
    if (!k) return n.fail(fmt::format("axis {} is outside rank {}", (*axes)[i], n.rank(0)));
    all.push_back(*k);
  }
  return Reduction{false, {{"axes", all}, {"keepdims", n.integer("keepdims", 1) != 0}}};
}

template <Term (*f)(Term, const Reduction&)>
Outputs reduce(NodeImport& n) {
  auto r = reduction_of(n);
  if (!r) return r.errors();
  Steps step(n);
  if (r->over_nothing) return step.done({step("identity", {step.in(0)})});
  return step.done({f(step.in(0), *r)});
}

Term sum(Term x, const Reduction& r) { return (*x.s)("reduce_sum", {x}, r.attrs); }
Term mean(Term x, const Reduction& r) { return (*x.s)("reduce_mean", {x}, r.attrs); }
Term largest(Term x, const Reduction& r) { return (*x.s)("reduce_max", {x}, r.attrs); }
Term smallest(Term x, const Reduction& r) { return (*x.s)("reduce_min", {x}, r.attrs); }
Term product(Term x, const Reduction& r) { return (*x.s)("reduce_prod", {x}, r.attrs); }
Term l1(Term x, const Reduction& r) { return sum(abs(x), r); }
Term sum_square(Term x, const Reduction& r) { return sum(x * x, r); }
Term l2(Term x, const Reduction& r) { return sqrt(sum_square(x, r)); }
Term log_sum(Term x, const Reduction& r) { return log(sum(x, r)); }

// Around the largest element, so that nothing overflows; one that is infinite is not subtracted.
Term log_sum_exp(Term x, const Reduction& r) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto finite = [](Term top) { return where(equal(abs(top), infinity), 0.0, top); };
  const Term kept = finite((*x.s)("reduce_max", {x}, r.kept()));
  return log(sum(exp(x - kept), r)) + finite(largest(x, r));
}

Outputs arg(NodeImport& n, std::string_view op) {
  auto axis = axis_in(n.integer("axis", 0), n.rank(0));
  if (!axis)
    return n.fail(fmt::format("axis {} is outside rank {}", n.integer("axis", 0), n.rank(0)));
  const Attrs attrs{{"axis", *axis}, {"keepdims", n.integer("keepdims", 1) != 0}};
  Steps step(n);
  if (n.integer("select_last_index", 0) == 0) return step.done({step(op, {step.in(0)}, attrs)});
  // The last one is the first one from behind.
  const auto k = static_cast<std::size_t>(*axis);
  const Shape shape = n.shape(0);
  Ints starts(shape.size(), 0), steps(shape.size(), 1);
  starts[k] = shape[k] - 1;
  steps[k] = -1;
  const Term turned =
      step("slice", {step.in(0)}, {{"starts", starts}, {"sizes", shape}, {"steps", steps}});
  return step.done({static_cast<double>(shape[k] - 1) - step(op, {turned}, attrs)});
}
Outputs arg_max(NodeImport& n) { return arg(n, "arg_max"); }
Outputs arg_min(NodeImport& n) { return arg(n, "arg_min"); }

Outputs cumulative_sum(NodeImport& n) {
  auto given = n.const_ints(1);
  if (!given || given->size() != 1)
    return n.fail("the axis is computed at run time", "make it constant");
  auto axis = axis_in((*given)[0], n.rank(0));
  if (!axis) return n.fail(fmt::format("axis {} is outside rank {}", (*given)[0], n.rank(0)));
  return one(n.op("cumulative_sum", {n.in(0)},
                  {{"axis", *axis},
                   {"exclusive", n.integer("exclusive", 0) != 0},
                   {"reverse", n.integer("reverse", 0) != 0}}));
}

// Before opset 13 softmax flattens to two axes at `axis` (default 1); since then it works along one
// (default -1).
Outputs normalised(NodeImport& n, Term (*f)(Steps&, Term, std::int64_t)) {
  const bool flat = n.opset < 13;
  auto axis = axis_in(n.integer("axis", flat ? 1 : -1), n.rank(0));
  if (!axis)
    return n.fail(
        fmt::format("axis {} is outside rank {}", n.integer("axis", flat ? 1 : -1), n.rank(0)));
  Steps step(n);
  if (!flat || *axis == n.rank(0) - 1) return step.done({f(step, step.in(0), *axis)});
  const Shape shape = n.shape(0);
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    (static_cast<std::int64_t>(i) < *axis ? outer : inner) *= shape[i];
  return step.done({step.reshape(f(step, step.reshape(step.in(0), {outer, inner}), 1), shape)});
}

Term softmax_of(Steps& step, Term x, std::int64_t axis) {
  return step("softmax", {x}, {{"axis", axis}});
}
Term log_softmax_of(Steps& step, Term x, std::int64_t axis) {
  return step("log_softmax", {x}, {{"axis", axis}});
}
/// 1 at the first of the largest elements, 0 elsewhere.
Term hardmax_of(Steps& step, Term x, std::int64_t axis) {
  if (!x.v) return x;
  const Shape shape = x.v.type().shape();
  Shape along(shape.size(), 1);
  along[static_cast<std::size_t>(axis)] = shape[static_cast<std::size_t>(axis)];
  const Term first = step("arg_max", {x}, {{"axis", axis}, {"keepdims", true}});
  const Term places =
      step.reshape(step("range", {}, {{"count", along[static_cast<std::size_t>(axis)]}}), along);
  return step.cast(equal(places, first), x.dtype());
}
Outputs softmax(NodeImport& n) { return normalised(n, softmax_of); }
Outputs log_softmax(NodeImport& n) { return normalised(n, log_softmax_of); }
Outputs hardmax(NodeImport& n) { return normalised(n, hardmax_of); }

constexpr std::array table{
    OpRow{"ReduceSum", 1, 2, reduce<sum>},
    OpRow{"ReduceMean", 1, 2, reduce<mean>},
    OpRow{"ReduceMax", 1, 2, reduce<largest>},
    OpRow{"ReduceMin", 1, 2, reduce<smallest>},
    OpRow{"ReduceProd", 1, 2, reduce<product>},
    OpRow{"ReduceL1", 1, 2, reduce<l1>},
    OpRow{"ReduceL2", 1, 2, reduce<l2>},
    OpRow{"ReduceSumSquare", 1, 2, reduce<sum_square>},
    OpRow{"ReduceLogSum", 1, 2, reduce<log_sum>},
    OpRow{"ReduceLogSumExp", 1, 2, reduce<log_sum_exp>},
    OpRow{"ArgMax", 1, 1, arg_max},
    OpRow{"ArgMin", 1, 1, arg_min},
    OpRow{"CumSum", 2, 2, cumulative_sum},
    OpRow{"Softmax", 1, 1, softmax},
    OpRow{"LogSoftmax", 1, 1, log_softmax},
    OpRow{"Hardmax", 1, 1, hardmax},
};

}  // namespace

std::span<const OpRow> reduce_rows() { return table; }

}  // namespace tenon::onnx_import
