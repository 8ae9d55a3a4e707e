#include "core/ops/support/common.h"

#include <algorithm>
#include <limits>

namespace tenon::ops {

bool any_type(DType) { return true; }
bool number(DType t) { return is_float(t) || is_int(t); }
bool signed_number(DType t) { return is_float(t) || (is_int(t) && is_signed(t)); }
bool float_type(DType t) { return is_float(t); }
bool boolean_type(DType t) { return t == DType::boolean; }

namespace {
std::string_view describe(TypeSet set) {
  return set == float_type      ? "a float type"
         : set == boolean_type  ? "bool"
         : set == signed_number ? "a signed integer or float type"
                                : "a number type";
}
}  // namespace

Status accept(const OpContext& c, TypeSet set, std::size_t k) {
  if (set(c.operands[k].dtype)) return {};
  return c.error(
      fmt::format("operand {} has type {}, needs {}", k, to_string(c.operands[k]), describe(set)),
      "insert a `cast`");
}

std::string text(const std::vector<Dim>& dims) {
  std::string s = to_string(TensorType(DType::f32, dims));
  return s.substr(s.find('['));
}

Result<std::size_t> axis_of(const OpContext& c, std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r)
    return c.error(fmt::format("axis {} of a tensor of rank {}", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

Result<std::vector<std::size_t>> axes_of(const OpContext& c, const std::vector<std::int64_t>& axes,
                                         std::size_t rank) {
  std::vector<std::size_t> out;
  for (std::int64_t a : axes) {
    auto axis = axis_of(c, a, rank);
    if (!axis) return axis.errors();
    out.push_back(*axis);
  }
  if (axes.empty())
    for (std::size_t k = 0; k < rank; ++k) out.push_back(k);
  std::sort(out.begin(), out.end());
  if (auto twice = std::adjacent_find(out.begin(), out.end()); twice != out.end())
    return c.error(fmt::format("axis {} is named twice", *twice));
  return out;
}

Result<std::vector<Dim>> broadcast(const OpContext& c, const std::vector<Dim>& a,
                                   const std::vector<Dim>& b) {
  std::vector<Dim> out(std::max(a.size(), b.size()), Dim(1));
  for (std::size_t k = 1; k <= out.size(); ++k) {
    const Dim x = k <= a.size() ? a[a.size() - k] : Dim(1),
              y = k <= b.size() ? b[b.size() - k] : Dim(1);
    if (!(x == y) && !(x == Dim(1)) && !(y == Dim(1)))
      return c.error(fmt::format("shapes {} and {} do not broadcast: {} and {} on axis -{}",
                                 text(a), text(b), text({x}), text({y}), k),
                     "axes are aligned at the last one; extents are equal or 1");
    out[out.size() - k] = x == Dim(1) ? y : x;
  }
  return out;
}

Status need_static(const OpContext& c) {
  for (std::size_t k = 0; k < c.operands.size(); ++k)
    if (!c.operands[k].is_static())
      return c.error(fmt::format("operand {} has a symbolic dim: {}", k, to_string(c.operands[k])),
                     "give the input shapes with --shape");
  return {};
}

Status need_length(const OpContext& c, std::string_view attr, std::size_t length, std::size_t n,
                   std::string_view things) {
  if (length == n) return {};
  return c.error(fmt::format("attribute '{}' has {} entries for {} {}", attr, length, n, things));
}

E load_broadcast(T t, std::span<const E> i) {
  const Shape shape = t.shape();
  std::vector<E> index;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    E axis = i[i.size() - shape.size() + k];
    index.push_back(shape[k] == 1 ? t.b->i64(0) : axis);
  }
  return t(index);
}

E lowest(te::Builder& b, DType t) {
  if (is_float(t)) return b.imm(t, -std::numeric_limits<double>::infinity());
  const unsigned n = bits(t) - 1;
  return b.imm_int(t, is_signed(t) ? static_cast<std::int64_t>(~std::uint64_t{0} << n) : 0);
}

std::vector<te::Axis> reduce_axes(const Shape& extents) {
  std::vector<te::Axis> axes;
  for (std::size_t k = 0; k < extents.size(); ++k)
    axes.push_back({"r" + std::to_string(k), extents[k]});
  return axes;
}

Result<Types> infer_same(const OpContext& c, TypeSet set) {
  if (Status s = accept(c, set); !s) return s.errors();
  return Types(1, c.operands[0]);
}

Result<Types> infer_broadcast(const OpContext& c, TypeSet set, bool to_boolean) {
  if (Status s = accept(c, set); !s) return s.errors();
  const TensorType &x = c.operands[0], &y = c.operands[1];
  if (x.dtype != y.dtype)
    return c.error(
        fmt::format("operands of different element types: {} and {}", to_string(x), to_string(y)),
        "insert a `cast`");
  auto dims = broadcast(c, x.dims, y.dims);
  if (!dims) return dims.errors();
  return Types{TensorType(to_boolean ? DType::boolean : x.dtype, *dims)};
}

namespace {
Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (std::size_t k = 1; k <= out.size(); ++k) {
    const std::int64_t x = k <= a.size() ? a[a.size() - k] : 1,
                       y = k <= b.size() ? b[b.size() - k] : 1;
    out[out.size() - k] = x == 1 ? y : x;
  }
  return out;
}
}  // namespace

Status binary_compute(te::Builder& b, ScalarOp op) {
  T x = b.input(0), y = b.input(1);
  b.output(b.stage("out", broadcast_shape(x.shape(), y.shape()), [&](auto i) {
    return te::binary(op, load_broadcast(x, i), load_broadcast(y, i));
  }));
  return {};
}

OpDef unary_op(std::string name, std::string doc, Infer infer, Compute compute) {
  OpDef d;
  d.name = std::move(name);
  d.doc = std::move(doc);
  d.fusion = FusionKind::elementwise;
  d.infer = infer;
  d.compute = compute;
  return d;
}

OpDef binary_op(std::string name, std::string doc, Infer infer, Compute compute, bool commutative) {
  OpDef d = unary_op(std::move(name), std::move(doc), infer, compute);
  d.min_operands = d.max_operands = 2;
  d.fusion = FusionKind::broadcast;
  d.commutative = commutative;
  return d;
}

OpDef reduce_op(std::string name, std::string doc, Infer infer, Compute compute) {
  OpDef d = unary_op(std::move(name), std::move(doc), infer, compute);
  d.fusion = FusionKind::reduction;
  d.attrs = {{"axes", AttrKind::ints, "axes folded; none = all", std::vector<std::int64_t>{}},
             {"keepdims", AttrKind::boolean, "keep folded axes with extent 1", false}};
  return d;
}

Result<Types> infer_reduce(const OpContext& c, TypeSet set) {
  if (Status s = accept(c, set); !s) return s.errors();
  const TensorType& x = c.operands[0];
  auto axes = axes_of(c, c.ints("axes"), x.rank());
  if (!axes) return axes.errors();
  const bool keep = *c.attrs->get<bool>("keepdims");
  std::vector<Dim> dims;
  for (std::size_t k = 0; k < x.rank(); ++k) {
    const bool is_folded = std::binary_search(axes->begin(), axes->end(), k);
    if (!is_folded) dims.push_back(x.dims[k]);
    if (is_folded && keep) dims.push_back(Dim(1));
  }
  return Types{TensorType(x.dtype, dims)};
}

Status reduce_compute(const OpContext& c, te::Builder& b, te::Fold fold,
                      E (*finish)(E, std::int64_t)) {
  T x = b.input(0);
  const Shape shape = x.shape();
  auto axes = axes_of(c, c.ints("axes"), shape.size());
  if (!axes) return axes.errors();
  const bool keep = *c.attrs->get<bool>("keepdims");
  Shape out, extents;
  std::int64_t count = 1;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const bool is_folded = std::binary_search(axes->begin(), axes->end(), k);
    if (is_folded) extents.push_back(shape[k]), count *= shape[k];
    if (!is_folded) out.push_back(shape[k]);
    if (is_folded && keep) out.push_back(1);
  }
  b.output(b.stage("out", out, [&](auto i) {
    E sum = b.reduce(fold, reduce_axes(extents), [&](auto r) {
      std::vector<E> index;
      std::size_t next_out = 0, next_fold = 0;
      for (std::size_t k = 0; k < shape.size(); ++k) {
        const bool is_folded = std::binary_search(axes->begin(), axes->end(), k);
        if (is_folded && keep) ++next_out;
        index.push_back(is_folded ? r[next_fold++] : i[next_out++]);
      }
      return x(index);
    });
    return finish ? finish(sum, count) : sum;
  }));
  return {};
}

std::optional<ViewFact> same_bytes(const OpContext&) { return ViewFact{}; }

}  // namespace tenon::ops
