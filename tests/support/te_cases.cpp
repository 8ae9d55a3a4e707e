#include "tests/support/te_cases.h"

namespace tenon::test {

namespace {

/// Whether 0 <= i < extent.
E inside(te::Builder& b, E i, std::int64_t extent) { return i >= b.i64(0) && i < extent; }

/// x [n,c,h,w,...] with borders of `value` around h and w; x itself when there are none.
T padded(te::Builder& b, T x, std::int64_t pad, double value) {
  if (pad == 0) return x;
  const Shape s = x.shape();
  Shape wide = s;
  wide[2] += 2 * pad, wide[3] += 2 * pad;
  return b.stage("padded", wide, [&](Index i) {
    const E y = i[2] - pad, z = i[3] - pad;
    std::vector<E> at(i.begin(), i.end());
    at[2] = y, at[3] = z;
    return te::select(inside(b, y, s[2]) && inside(b, z, s[3]), x(at), b.imm(x.dtype(), value));
  });
}

/// Bias, residual and ReLU behind the convolution `y`, from input 2 on. The bias has the channel,
/// or its block and its place there.
void epilogue(te::Builder& b, const Conv& p, T y) {
  std::uint32_t next = 2;
  const auto tail = [&](const char* name, auto fn) { y = b.stage(name, y.shape(), fn); };
  if (p.bias) {
    const T bias = b.input(next++), before = y;
    const bool packed = y.shape().size() == 5;
    tail("bias", [&](Index i) { return before(i) + (packed ? bias({i[1], i[4]}) : bias({i[1]})); });
  }
  if (p.residual) {
    const T other = b.input(next++), before = y;
    tail("add", [&](Index i) { return before(i) + other(i); });
  }
  if (p.relu) {
    const T before = y;
    tail("relu", [&](Index i) { return te::max(before(i), b.imm(p.dtype, 0)); });
  }
  b.output(y);
}

}  // namespace

te::Compute conv(const Conv& p) {
  const std::int64_t cg = p.c / p.groups, og = p.o / p.groups, oh = p.out_h(), ow = p.out_w();
  std::vector<TensorType> in{{p.dtype, Shape{p.n, p.c, p.h, p.w}},
                             {p.dtype, Shape{p.o, cg, p.kh, p.kw}}};
  if (p.bias) in.push_back({p.dtype, Shape{p.o}});
  if (p.residual) in.push_back({p.dtype, Shape{p.n, p.o, oh, ow}});
  te::Builder b(in);
  const T x = padded(b, b.input(0), p.pad, 0);
  const T w = b.input(1);
  const T y = b.stage("conv", {p.n, p.o, oh, ow}, [&](Index i) {
    return b.reduce(te::Fold::sum, {{"c", cg}, {"ky", p.kh}, {"kx", p.kw}}, [&](Index r) {
      const E c = p.groups == 1 ? r[0] : (i[1] / og) * cg + r[0];
      return x({i[0], c, i[2] * p.stride + r[1] * p.dilation,
                i[3] * p.stride + r[2] * p.dilation}) *
             w({i[1], r[0], r[1], r[2]});
    });
  });
  epilogue(b, p, y);
  return b.take();
}

te::Compute packed_conv(const Conv& p, std::int64_t block) {
  const bool depthwise = p.groups > 1, plain = p.c < block && !depthwise;
  const std::int64_t ob = (p.o + block - 1) / block, cb = (p.c + block - 1) / block;
  const Shape out{p.n, ob, p.out_h(), p.out_w(), block};
  std::vector<TensorType> in;
  in.emplace_back(p.dtype, plain ? Shape{p.n, p.c, p.h, p.w} : Shape{p.n, cb, p.h, p.w, block});
  in.emplace_back(p.dtype, depthwise ? Shape{ob, p.kh, p.kw, block}
                           : plain   ? Shape{ob, p.c, p.kh, p.kw, block}
                                     : Shape{ob, cb, p.kh, p.kw, block, block});
  if (p.bias) in.emplace_back(p.dtype, Shape{ob, block});
  if (p.residual) in.emplace_back(p.dtype, out);
  te::Builder b(in);
  const T x = padded(b, b.input(0), p.pad, 0);
  const T w = b.input(1);
  std::vector<te::Axis> window{{"ky", p.kh}, {"kx", p.kw}};
  if (!depthwise) window.insert(window.begin(), {"c", plain ? p.c : cb});
  if (!depthwise && !plain) window.push_back({"ci", block});
  const T y = b.stage("conv", out, [&](Index i) {
    return b.reduce(te::Fold::sum, window, [&](Index r) {
      const std::size_t k = depthwise ? 0 : 1;
      const E h = i[2] * p.stride + r[k] * p.dilation, v = i[3] * p.stride + r[k + 1] * p.dilation;
      if (depthwise) return x({i[0], i[1], h, v, i[4]}) * w({i[1], r[0], r[1], i[4]});
      if (plain) return x({i[0], r[0], h, v}) * w({i[1], r[0], r[1], r[2], i[4]});
      return x({i[0], r[0], h, v, r[3]}) * w({i[1], r[0], r[1], r[2], r[3], i[4]});
    });
  });
  epilogue(b, p, y);
  return b.take();
}

te::Compute panel_matmul(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t width) {
  te::Builder b({{DType::f32, Shape{m, k}}, {DType::f32, Shape{n / width, k, width}}});
  const T x = b.input(0), w = b.input(1);
  b.output(b.stage("matmul", {m, n / width, width}, [&](Index i) {
    return b.reduce(te::Fold::sum, {{"k", k}}, [&](Index r) {
      return x({i[0], r[0]}) * w({i[1], r[0], i[2]});
    });
  }));
  return b.take();
}

te::Compute byte_matmul(std::int64_t m, std::int64_t n, std::int64_t groups, std::int64_t width,
                        bool scaled) {
  std::vector<TensorType> inputs{{DType::u8, Shape{m, 4 * groups}},
                                 {DType::i8, Shape{n / width, groups, width, 4}}};
  if (scaled) inputs.insert(inputs.end(), {{DType::i32, Shape{n}}, {DType::f32, Shape{n}}});
  te::Builder b(inputs);
  const T x = b.input(0), w = b.input(1);
  b.output(b.stage("matmul", {m, n}, [&](Index i) {
    const E sum = b.reduce(te::Fold::sum, {{"k", groups}, {"q", 4}}, [&](Index r) {
      return b.cast(x({i[0], r[0] * 4 + r[1]}), DType::i32) *
             b.cast(w({i[1] / width, r[0], i[1] % width, r[1]}), DType::i32);
    });
    return scaled ? b.cast(sum - b.input(2)({i[1]}), DType::f32) * b.input(3)({i[1]}) : sum;
  }));
  return b.take();
}

te::Compute matmul(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                   bool transposed, DType t) {
  const auto shape = [&](std::int64_t x, std::int64_t y) {
    return batch ? Shape{batch, x, y} : Shape{x, y};
  };
  te::Builder b({{t, shape(m, k)}, {t, transposed ? shape(n, k) : shape(k, n)}});
  const T x = b.input(0), w = b.input(1);
  b.output(b.stage("matmul", shape(m, n), [&](Index i) {
    return b.reduce(te::Fold::sum, {{"k", k}}, [&](Index r) {
      if (!batch) return x({i[0], r[0]}) * (transposed ? w({i[1], r[0]}) : w({r[0], i[1]}));
      return x({i[0], i[1], r[0]}) * (transposed ? w({i[0], i[2], r[0]}) : w({i[0], r[0], i[2]}));
    });
  }));
  return b.take();
}

te::Compute pool(const Conv& p, te::Fold fold) {
  te::Builder b({{p.dtype, Shape{p.n, p.c, p.h, p.w}}});
  const T x = padded(b, b.input(0), p.pad, fold == te::Fold::sum ? 0 : -100);
  b.output(b.stage("pool", {p.n, p.c, p.out_h(), p.out_w()}, [&](Index i) {
    return b.reduce(fold, {{"ky", p.kh}, {"kx", p.kw}}, [&](Index r) {
      return x(
          {i[0], i[1], i[2] * p.stride + r[0] * p.dilation, i[3] * p.stride + r[1] * p.dilation});
    });
  }));
  return b.take();
}

namespace {

/// `i` without its entries at `axis`.
std::vector<E> without(Index i, std::size_t axis) {
  std::vector<E> r(i.begin(), i.end());
  r.erase(r.begin() + static_cast<std::ptrdiff_t>(axis));
  return r;
}

/// Fold over one axis of `x`, which is dropped.
T folded(te::Builder& b, const char* name, T x, std::size_t axis, te::Fold fold) {
  Shape s = x.shape();
  const std::int64_t extent = s[axis];
  s.erase(s.begin() + static_cast<std::ptrdiff_t>(axis));
  return b.stage(name, s, [&](Index i) {
    const std::vector<E> outer(i.begin(), i.end());
    return b.reduce(fold, {{"r", extent}}, [&](Index r) {
      std::vector<E> at = outer;
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), r[0]);
      return x(at);
    });
  });
}

}  // namespace

te::Compute softmax(const Shape& shape, std::size_t axis) {
  te::Builder b({{DType::f32, shape}});
  const T x = b.input(0);
  const T most = folded(b, "most", x, axis, te::Fold::max);
  const T e = b.stage("exp", shape, [&](Index i) {
    return te::unary(ScalarOp::exp, x(i) - most(without(i, axis)));
  });
  const T sum = folded(b, "sum", e, axis, te::Fold::sum);
  const T scale =
      b.stage("scale", sum.shape(), [&](Index i) { return b.imm(DType::f32, 1) / sum(i); });
  b.output(b.stage("softmax", shape, [&](Index i) { return e(i) * scale(without(i, axis)); }));
  return b.take();
}

te::Compute layer_norm(std::int64_t rows, std::int64_t cols) {
  const Shape shape{rows, cols};
  te::Builder b({{DType::f32, shape}, {DType::f32, Shape{cols}}, {DType::f32, Shape{cols}}});
  const T x = b.input(0), scale = b.input(1), shift = b.input(2);
  const T sum = folded(b, "sum", x, 1, te::Fold::sum);
  const T mean = b.stage("mean", {rows}, [&](Index i) {
    return sum(i) / b.imm(DType::f32, static_cast<double>(cols));
  });
  const T square = b.stage("square", shape,
                           [&](Index i) { return (x(i) - mean({i[0]})) * (x(i) - mean({i[0]})); });
  const T total = folded(b, "total", square, 1, te::Fold::sum);
  b.output(b.stage("norm", shape, [&](Index i) {
    const E var =
        total({i[0]}) / b.imm(DType::f32, static_cast<double>(cols)) + b.imm(DType::f32, 1e-5);
    return (x(i) - mean({i[0]})) / te::unary(ScalarOp::sqrt, var) * scale({i[1]}) + shift({i[1]});
  }));
  return b.take();
}

te::Compute attention(const Attention& p) {
  te::Builder b({{DType::f32, Shape{p.m, p.heads, p.d}},
                 {DType::f32, Shape{p.n, p.heads, p.d}},
                 {DType::f32, Shape{p.n, p.heads, p.e}},
                 {DType::f32, Shape{p.n}}});
  const T q = b.input(0), k = b.input(1), v = b.input(2), mask = b.input(3);
  const Shape scores{p.heads, p.m, p.n};
  const T product = b.stage("product", scores, [&](Index i) {
    return b.reduce(te::Fold::sum, {{"d", p.d}}, [&](Index r) {
      return q({i[1], i[0], r[0]}) * k({i[2], i[0], r[0]});
    });
  });
  const T score = b.stage("score", scores, [&](Index i) {
    const E scaled = product(i) * b.imm(DType::f32, 0.25);
    return p.mask ? scaled + mask({i[2]}) : scaled;
  });
  const T most = folded(b, "most", score, 2, te::Fold::max);
  const T e = b.stage("exp", scores, [&](Index i) {
    return te::unary(ScalarOp::exp, score(i) - most({i[0], i[1]}));
  });
  const T sum = folded(b, "sum", e, 2, te::Fold::sum);
  const T weighted = b.stage("weighted", {p.heads, p.m, p.e}, [&](Index i) {
    return b.reduce(te::Fold::sum, {{"n", p.n}}, [&](Index r) {
      return e({i[0], i[1], r[0]}) * v({r[0], i[0], i[2]});
    });
  });
  b.output(b.stage("out", {p.m, p.heads, p.e}, [&](Index i) {
    return weighted({i[1], i[0], i[2]}) / sum({i[1], i[0]});
  }));
  return b.take();
}

te::Compute fold_axes(const Shape& shape, const std::vector<std::size_t>& over, te::Fold fold,
                      DType t) {
  te::Builder b({{t, shape}});
  const T x = b.input(0);
  Shape kept;
  std::vector<te::Axis> axes;
  std::vector<bool> is_folded(shape.size(), false);
  for (std::size_t a : over) is_folded[a] = true;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (is_folded[a])
      axes.push_back({"r", shape[a]});
    else
      kept.push_back(shape[a]);
  }
  b.output(b.stage("fold", kept, [&](Index i) {
    const std::vector<E> outer(i.begin(), i.end());
    return b.reduce(fold, axes, [&](Index r) {
      std::vector<E> at;
      std::size_t o = 0, q = 0;
      for (std::size_t a = 0; a < shape.size(); ++a)
        at.push_back(is_folded[a] ? r[q++] : outer[o++]);
      return x(at);
    });
  }));
  return b.take();
}

te::Compute elementwise(const Shape& out, const std::vector<Shape>& shapes, DType t,
                        const std::function<E(te::Builder&, std::vector<E>)>& fn) {
  std::vector<TensorType> in;
  for (const Shape& s : shapes) in.push_back({t, s});
  te::Builder b(in);
  b.output(b.stage("out", out, [&](Index i) {
    std::vector<E> args;
    for (std::uint32_t k = 0; k < shapes.size(); ++k) {
      std::vector<E> at;
      const std::size_t skip = out.size() - shapes[k].size();
      for (std::size_t d = 0; d < shapes[k].size(); ++d)
        at.push_back(shapes[k][d] == 1 ? b.i64(0) : i[skip + d]);
      args.push_back(b.input(k)(at));
    }
    return fn(b, args);
  }));
  return b.take();
}

te::Compute transpose(const Shape& shape, const std::vector<std::size_t>& perm, DType t) {
  te::Builder b({{t, shape}});
  Shape out;
  for (std::size_t p : perm) out.push_back(shape[p]);
  b.output(b.stage("transpose", out, [&](Index i) {
    std::vector<E> at(perm.size(), i.empty() ? E{} : i[0]);
    for (std::size_t d = 0; d < perm.size(); ++d) at[perm[d]] = i[d];
    return b.input(0)(at);
  }));
  return b.take();
}

}  // namespace tenon::test
