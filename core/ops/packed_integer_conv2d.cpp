#include "core/ops/support/common.h"
#include "core/ops/support/window.h"

namespace tenon::ops {

namespace {

Result<Window> window_in(const OpContext& c) {
  const Shape w = c.operands[1].shape();
  return window_of(c, {w[2], w[3]});
}

Result<Types> packed_integer_conv_type(const OpContext& c) {
  if (Status s = need_static(c); !s) return s.errors();
  const TensorType &x = c.operands[0], &w = c.operands[1];
  if (x.dtype != DType::u8 || w.dtype != DType::i8)
    return c.error(fmt::format("data {} and weight {}, need elements of u8 and i8", to_string(x),
                               to_string(w)),
                   "insert a `cast`");
  if (x.rank() != 5 || w.rank() != 7)
    return c.error(
        fmt::format("data {} and weight {}: need ranks 5 and 7", to_string(x), to_string(w)));
  const Shape in = x.shape(), of = w.shape();
  const auto block = checked_mul(static_cast<std::uint64_t>(of[4]), std::uint64_t{byte_group});
  if (of[6] != byte_group || of[5] < 1 || of[4] < 1)
    return c.error(
        fmt::format("weight {}, need channels in groups of {}", to_string(w), byte_group));
  if (in[1] != of[1] || !block || *block != static_cast<std::uint64_t>(in[4]))
    return c.error(fmt::format("data {} does not fit the weight {}", to_string(x), to_string(w)));
  const std::int64_t pad = c.integer("pad");
  if (pad < 0 || pad > 255) return c.error(fmt::format("pads with {}, not with a u8", pad));
  auto window = window_in(c);
  if (!window) return window.errors();
  auto extents = output_extents(c, *window, std::span(x.dims).subspan(2, 2));
  if (!extents) return extents.errors();
  std::vector<Dim> dims{x.dims[0], Dim(of[0])};
  dims.insert(dims.end(), extents->begin(), extents->end());
  dims.push_back(Dim(of[5]));
  return Types{TensorType(DType::i32, dims)};
}

Status packed_integer_conv_compute(const OpContext& c, te::Builder& b) {
  auto type = packed_integer_conv_type(c);
  if (!type) return type.errors();
  const Window w = *window_in(c);
  T x = pad_stage(b, b.input(0), w, b.imm_int(DType::u8, c.integer("pad"))), weight = b.input(1);
  const Shape of = weight.shape();
  const std::vector<te::Axis> axes{
      {"c", of[1]}, {"k0", of[2]}, {"k1", of[3]}, {"b", of[4]}, {"q", byte_group}};
  b.output(b.stage("out", (*type)[0].shape(), [&](auto i) {
    return b.reduce(te::Fold::sum, axes, [&](auto r) {
      return b.cast(x({i[0], r[0], window_index(w, 0, i[2], r[1]), window_index(w, 1, i[3], r[2]),
                       r[3] * byte_group + r[4]}),
                    DType::i32) *
             b.cast(weight({i[1], r[0], r[1], r[2], r[3], i[4], r[4]}), DType::i32);
    });
  }));
  return {};
}

}  // namespace

OpDef packed_integer_conv2d() {
  OpDef d;
  d.name = "packed_integer_conv2d";
  d.doc =
      "conv2d of u8 and i8 in i32, which wraps, over channels in blocks of b, those of a weight in "
      "groups of 4: data [N, C/b, H, W, b], weight [O/p, C/b, KH, KW, b/4, p, 4], the result is "
      "[N, O/p, OH, OW, p].";
  d.min_operands = 2;
  d.max_operands = 2;
  d.attrs = window_attrs();
  d.attrs.push_back(
      {"pad", AttrKind::integer, "what stands in the border: 0 to 255", std::int64_t{0}});
  d.fusion = FusionKind::anchor;
  d.infer = packed_integer_conv_type;
  d.compute = packed_integer_conv_compute;
  return d;
}

}  // namespace tenon::ops
