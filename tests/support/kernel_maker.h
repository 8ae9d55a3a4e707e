// Writes kernels by hand, for tests of targets and of the runtime.
#ifndef TENON_TESTS_SUPPORT_KERNEL_MAKER_H
#define TENON_TESTS_SUPPORT_KERNEL_MAKER_H

#include <string>
#include <utility>
#include <vector>

#include "tenon/kernel.h"

namespace tenon::test {

class KernelMaker {
 public:
  using E = tir::ExprId;

  explicit KernelMaker(std::string symbol) {
    k_.symbol = std::move(symbol);
    k_.vars = {{"begin", {DType::i64, 1}}, {"end", {DType::i64, 1}}};
  }

  std::uint32_t buffer(std::string name, DType t, std::uint64_t elements, tir::Scope scope,
                       std::uint64_t align = 1) {
    tir::Buffer b{std::move(name), t, elements, scope};
    b.align = align;
    if (scope != tir::Scope::worker) b.arg = args_++;
    k_.buffers.push_back(std::move(b));
    return static_cast<std::uint32_t>(k_.buffers.size() - 1);
  }
  std::uint32_t input(DType t, std::uint64_t n) {
    return buffer("in" + std::to_string(args_), t, n, tir::Scope::input);
  }
  std::uint32_t output(DType t, std::uint64_t n) {
    return buffer("out" + std::to_string(args_), t, n, tir::Scope::output);
  }
  std::uint32_t variable(std::string name, tir::Type t) {
    k_.vars.push_back({std::move(name), t});
    return static_cast<std::uint32_t>(k_.vars.size() - 1);
  }

  E imm(std::int64_t i, DType t = DType::i64) {
    tir::Expr e{.kind = tir::Kind::imm, .type = {t, 1}};
    if (is_float(t))
      e.f = static_cast<double>(i);
    else
      e.i = i;
    return add(std::move(e));
  }
  E immf(double f, DType t = DType::f32) {
    return add({.kind = tir::Kind::imm, .type = {t, 1}, .f = f});
  }
  E var(std::uint32_t v) { return add({.kind = tir::Kind::var, .type = k_.vars[v].type, .n = v}); }
  E load(std::uint32_t buf, E index, unsigned lanes = 1, std::int64_t stride = 1,
         E mask = tir::none) {
    tir::Expr e{.kind = tir::Kind::load,
                .type = {k_.buffers[buf].dtype, static_cast<std::uint16_t>(lanes)},
                .n = buf};
    e.i = k_.exprs[index].type.lanes == 1 && lanes > 1 ? stride : 0;
    e.args = {index};
    if (mask != tir::none) e.args.push_back(mask);
    return add(std::move(e));
  }
  E broadcast(E x, unsigned lanes) {
    if (lanes == type(x).lanes) return x;
    return add({.kind = tir::Kind::broadcast,
                .type = {type(x).dtype, static_cast<std::uint16_t>(lanes)},
                .args = {x}});
  }
  E ramp(E x, std::int64_t step, unsigned lanes) {
    return add({.kind = tir::Kind::ramp,
                .type = {type(x).dtype, static_cast<std::uint16_t>(lanes)},
                .i = step,
                .args = {x}});
  }
  E op(ScalarOp o, tir::Type t, std::vector<E> args) {
    return add({.kind = tir::Kind::scalar, .op = o, .type = t, .args = std::move(args)});
  }
  /// Result type as the operands', boolean for comparisons.
  E op(ScalarOp o, std::vector<E> args) {
    tir::Type t = type(args.back());
    if (is_comparison(o) || o == ScalarOp::is_nan) t.dtype = DType::boolean;
    return op(o, t, std::move(args));
  }
  E fold(ScalarOp o, E x) {
    return add({.kind = tir::Kind::fold_lanes, .op = o, .type = {type(x).dtype, 1}, .args = {x}});
  }

  E dot(E x, E y, E sum) {
    return add({.kind = tir::Kind::dot, .type = type(sum), .args = {x, y, sum}});
  }

  void assign(std::uint32_t v, E value) {
    push({.kind = tir::StmtKind::assign, .target = v, .value = value});
  }
  void store(std::uint32_t buf, E index, E value, std::int64_t stride = 1, E mask = tir::none) {
    push({.kind = tir::StmtKind::store,
          .target = buf,
          .value = value,
          .index = index,
          .mask = mask,
          .stride = stride});
  }
  /// Statements of `body` go into the loop.
  template <class F>
  void loop(std::uint32_t v, E begin, E end, std::int64_t step, F body) {
    tir::Stmt s{.kind = tir::StmtKind::loop, .target = v, .begin = begin, .end = end, .step = step};
    s.body = collect(body);
    push(std::move(s));
  }
  template <class F, class G>
  void branch(E condition, F yes, G no) {
    tir::Stmt s{.kind = tir::StmtKind::branch, .value = condition};
    s.body = collect(yes);
    s.other = collect(no);
    push(std::move(s));
  }
  /// A new variable that runs over the chunk in steps.
  template <class F>
  void for_chunk(std::int64_t step, F body) {
    const std::uint32_t v = variable("i", {DType::i64, 1});
    loop(v, var(0), var(1), step, [&] { body(var(v)); });
  }

  tir::Kernel& kernel() { return k_; }
  /// The kernel, with its range.
  tir::Kernel done(std::int64_t extent, std::int64_t grain = 1) {
    k_.extent = extent;
    k_.grain = grain;
    k_.body = list_;
    return k_;
  }
  tir::Type type(E e) const { return k_.exprs[e].type; }

 private:
  E add(tir::Expr e) {
    k_.exprs.push_back(std::move(e));
    return static_cast<E>(k_.exprs.size() - 1);
  }
  void push(tir::Stmt s) {
    k_.stmts.push_back(std::move(s));
    list_.push_back(static_cast<tir::StmtId>(k_.stmts.size() - 1));
  }
  template <class F>
  std::vector<tir::StmtId> collect(F body) {
    std::vector<tir::StmtId> outer = std::exchange(list_, {});
    body();
    return std::exchange(list_, std::move(outer));
  }

  tir::Kernel k_;
  std::vector<tir::StmtId> list_;
  std::uint32_t args_ = 0;
};

}  // namespace tenon::test

#endif
