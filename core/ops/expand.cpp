#include "core/ops/support/common.h"

namespace tenon::ops {

namespace {

Result<Types> expand_type(const OpContext& c) {
  const TensorType& x = c.operands[0];
  std::vector<Dim> to;
  for (std::int64_t d : c.ints("shape")) {
    if (d < 0) return c.error(fmt::format("shape has the extent {}", d));
    to.push_back(Dim(d));
  }
  auto dims = broadcast(c, x.dims, to);
  if (!dims) return dims.errors();
  if (*dims != to)
    return c.error(
        fmt::format("{} does not broadcast to {}, but to {}", to_string(x), text(to), text(*dims)));
  return Types{TensorType(x.dtype, to)};
}

Status expand_compute(const OpContext& c, te::Builder& b) {
  T x = b.input(0);
  b.output(b.stage("out", c.ints("shape"), [&](auto i) { return load_broadcast(x, i); }));
  return {};
}

}  // namespace

OpDef expand() {
  OpDef d;
  d.name = "expand";
  d.doc = "Broadcasting to a shape: out[i] = x[i with 0 on axes where x has extent 1].";
  d.attrs = {{"shape", AttrKind::ints, "extents of the result", {}}};
  d.fusion = FusionKind::broadcast;
  d.infer = expand_type;
  d.compute = expand_compute;
  return d;
}

}  // namespace tenon::ops
