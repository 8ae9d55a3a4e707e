#include "core/ops/support/common.h"
#include "core/ops/support/window.h"

namespace tenon::ops {

namespace {

/// The three forms, told apart by rank; b is the block, g the groups.
///   dense      data [N, C/b, H, W, b]   weight [O/b, C/g/b, KH, KW, b of c, b of o]
///   plain      data [N, C, H, W]        weight [O/b, C, KH, KW, b of o]
///   depthwise  data [N, C/b, H, W, b]   weight [C/b, KH, KW, b]
struct Form {
  bool packed_data = false, depthwise = false;
  std::size_t window = 2;  ///< axis of KH in the weight
};

Result<Form> form_of(const OpContext& c) {
  const std::size_t x = c.operands[0].rank(), w = c.operands[1].rank();
  if (x == 5 && w == 6) return Form{true, false, 2};
  if (x == 4 && w == 5) return Form{false, false, 2};
  if (x == 5 && w == 4) return Form{true, true, 1};
  return c.error(
      fmt::format("data {} and weight {}: need ranks 5 and 6 (dense), 4 and 5 (plain "
                  "data) or 5 and 4 (depthwise)",
                  to_string(c.operands[0]), to_string(c.operands[1])));
}

Result<Window> packed_window(const OpContext& c, const Form& f) {
  const Shape w = c.operands[1].shape();
  return window_of(c, {w[f.window], w[f.window + 1]});
}

Result<Types> packed_conv_type(const OpContext& c) {
  if (Status s = accept(c, number); !s) return s.errors();
  auto form = form_of(c);
  if (!form) return form.errors();
  if (Status s = need_static(c); !s) return s.errors();
  const TensorType& x = c.operands[0];
  for (const TensorType& t : c.operands)
    if (t.dtype != x.dtype)
      return c.error(
          fmt::format("operands of different element types: {} and {}", to_string(x), to_string(t)),
          "insert a `cast`");
  const Shape in = x.shape(), w = c.operands[1].shape();
  const std::int64_t groups = c.integer("groups"), blocks = w[0], block = w.back();
  if (block < 1) return c.error(fmt::format("blocks of {} channels", block));
  if (form->packed_data && in.back() != block)
    return c.error(fmt::format("data {} in blocks of {}, weight in blocks of {}", to_string(x),
                               in.back(), block));
  if (form->depthwise ? groups != 1 || in[1] != blocks
                      : groups < 1 || blocks % groups != 0 || (!form->packed_data && groups != 1))
    return c.error(fmt::format("{} groups of {} blocks of results from data {}", groups, blocks,
                               to_string(x)));
  if (!form->depthwise) {
    const std::optional<std::uint64_t> taken =
        checked_mul(static_cast<std::uint64_t>(w[1]), static_cast<std::uint64_t>(groups));
    if (!taken || *taken != static_cast<std::uint64_t>(in[1]) ||
        (form->packed_data && w[4] != block))
      return c.error(fmt::format("data {} does not fit the weight {} in {} groups", to_string(x),
                                 to_string(c.operands[1]), groups));
  }
  if (c.operands.size() == 3 && !(c.operands[2] == TensorType(x.dtype, Shape{blocks, block})))
    return c.error(
        fmt::format("bias is {}, needs [{}, {}]", to_string(c.operands[2]), blocks, block));
  auto window = packed_window(c, *form);
  if (!window) return window.errors();
  auto extents = output_extents(c, *window, std::span(x.dims).subspan(2, 2));
  if (!extents) return extents.errors();
  std::vector<Dim> dims{x.dims[0], Dim(blocks)};
  dims.insert(dims.end(), extents->begin(), extents->end());
  dims.push_back(Dim(block));
  return Types{TensorType(x.dtype, dims)};
}

Status packed_conv_compute(const OpContext& c, te::Builder& b) {
  auto type = packed_conv_type(c);
  if (!type) return type.errors();
  const Form f = *form_of(c);
  auto window = packed_window(c, f);
  if (!window) return window.errors();
  const Window& w = *window;
  T x = pad_stage(b, b.input(0), w, b.imm(b.input(0).dtype(), 0)), weight = b.input(1);
  const Shape shape = (*type)[0].shape();
  const std::int64_t groups = c.integer("groups"), block = shape[4];
  const std::int64_t taken = f.depthwise ? 1 : weight.shape()[1];
  const std::int64_t outs = std::max<std::int64_t>(shape[1] / groups, 1);
  std::vector<te::Axis> axes;
  if (!f.depthwise) axes.push_back({"c", taken});
  axes.push_back({"k0", w.kernel[0]});
  axes.push_back({"k1", w.kernel[1]});
  if (f.packed_data && !f.depthwise) axes.push_back({"b", block});
  b.output(b.stage("out", shape, [&](auto i) {
    E sum = b.reduce(te::Fold::sum, axes, [&](auto r) {
      const std::size_t k = f.depthwise ? 0 : 1;
      E from_block = f.depthwise ? i[1] : groups == 1 ? r[0] : i[1] / outs * taken + r[0];
      std::vector<E> from{i[0], from_block, window_index(w, 0, i[2], r[k]),
                          window_index(w, 1, i[3], r[k + 1])};
      std::vector<E> tap{i[1]};
      if (!f.depthwise) tap.push_back(r[0]);
      tap.push_back(r[k]);
      tap.push_back(r[k + 1]);
      if (f.depthwise) {
        from.push_back(i[4]);
      } else if (f.packed_data) {
        from.push_back(r[3]);
        tap.push_back(r[3]);
      }
      tap.push_back(i[4]);
      return x(from) * weight(tap);
    });
    return b.n_inputs() == 3 ? sum + b.input(2)({i[1], i[4]}) : sum;
  }));
  return {};
}

}  // namespace

OpDef packed_conv2d() {
  OpDef d;
  d.name = "packed_conv2d";
  d.doc =
      "conv2d over channels in blocks of b, operands data, weight, bias [O/b, b] (may be absent); "
      "the result is [N, O/b, OH, OW, b]. Dense: data [N, C/b, H, W, b], weight [O/b, C/groups/b, "
      "KH, KW, b of c, b of o]; plain data: [N, C, H, W], weight [O/b, C, KH, KW, b]; depthwise: "
      "data [N, C/b, H, W, b], weight [C/b, KH, KW, b].";
  d.min_operands = 2;
  d.max_operands = 3;
  d.attrs = window_attrs();
  d.attrs.push_back({"groups", AttrKind::integer,
                     "groups of blocks of channels that do not mix; 1 for depthwise",
                     std::int64_t{1}});
  d.fusion = FusionKind::anchor;
  d.infer = packed_conv_type;
  d.compute = packed_conv_compute;
  return d;
}

}  // namespace tenon::ops
