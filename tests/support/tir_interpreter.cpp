#include "tests/support/tir_interpreter.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace tenon::test {
namespace {

using Lanes = std::vector<Lane>;

class Interpreter {
 public:
  Interpreter(const tir::Kernel& k, void* const* buf, void* worker) : k_(k), vars_(k.vars.size()) {
    for (const tir::Buffer& b : k.buffers)
      bases_.push_back(b.scope == tir::Scope::worker ? static_cast<std::byte*>(worker) + b.offset
                                                     : static_cast<std::byte*>(buf[b.arg]));
  }

  std::string run(std::int64_t begin, std::int64_t end) {
    vars_[0] = {static_cast<Lane>(begin)};
    vars_[1] = {static_cast<Lane>(end)};
    statements(k_.body);
    return fault_;
  }

 private:
  static std::int64_t as_index(DType t, Lane v) {
    const unsigned shift = 64 - bits(t);
    return is_signed(t) ? static_cast<std::int64_t>(v << shift) >> shift
                        : static_cast<std::int64_t>(v);
  }

  /// Address of element `at`; null (and a fault) when it is outside.
  std::byte* element(std::uint32_t buffer, std::int64_t at) {
    const tir::Buffer& b = k_.buffers[buffer];
    if (at < 0 || static_cast<std::uint64_t>(at) >= b.elements) {
      if (fault_.empty())
        fault_ = fmt::format("{}: element {} of buffer '{}', which has {}", k_.symbol, at, b.name,
                             b.elements);
      return nullptr;
    }
    return bases_[buffer] + static_cast<std::uint64_t>(at) * (bits(b.dtype) / 8);
  }

  std::int64_t lane_index(tir::ExprId index, std::size_t lane, std::int64_t stride) {
    const Lanes& v = memo_[index];
    const DType t = k_.exprs[index].type.dtype;
    return v.size() > 1 ? as_index(t, v[lane])
                        : as_index(t, v[0]) +
                              static_cast<std::int64_t>(lane) * std::max<std::int64_t>(stride, 1);
  }

  Lanes load(const tir::Expr& e) {
    Lanes out(e.type.lanes, 0);
    for (std::size_t l = 0; l < out.size(); ++l) {
      if (e.args.size() > 1 && memo_[e.args[1]][l] == 0) continue;
      if (const std::byte* p = element(e.n, lane_index(e.args[0], l, e.i)))
        out[l] = read_lane(e.type.dtype, p);
    }
    return out;
  }

  Lanes fold(const tir::Expr& e) {
    Lanes v = memo_[e.args[0]];
    for (std::size_t n = v.size(); n > 1; n -= n / 2)
      for (std::size_t l = 0; l < n / 2; ++l)
        v[l] = interpret_scalar(e.op, e.type.dtype, e.type.dtype, v[l], v[l + n - n / 2], 0);
    return {v[0]};
  }

  Lanes expression(const tir::Expr& e) {
    switch (e.kind) {
      case tir::Kind::imm: {
        if (!is_float(e.type.dtype)) {
          const Lane one = e.i != 0;
          return {e.type.dtype == DType::boolean
                      ? one
                      : interpret_scalar(ScalarOp::cast, DType::i64, e.type.dtype,
                                         static_cast<Lane>(e.i), 0, 0)};
        }
        Lane raw = 0;
        std::memcpy(&raw, &e.f, 8);
        return {interpret_scalar(ScalarOp::cast, DType::f64, e.type.dtype, raw, 0, 0)};
      }
      case tir::Kind::var:
        return vars_[e.n];
      case tir::Kind::load:
        return load(e);
      case tir::Kind::broadcast: {
        const Lanes& from = memo_[e.args[0]];
        Lanes out;
        for (std::size_t l = 0; l < e.type.lanes; ++l) out.push_back(from[l % from.size()]);
        return out;
      }
      case tir::Kind::ramp: {
        Lanes out;
        for (Lane l = 0; l < e.type.lanes; ++l)
          out.push_back(interpret_scalar(ScalarOp::cast, DType::u64, e.type.dtype,
                                         memo_[e.args[0]][0] + l * static_cast<Lane>(e.i), 0, 0));
        return out;
      }
      case tir::Kind::scalar: {
        Lanes out;
        const auto lane = [&](std::size_t arg, std::size_t l) {
          return arg < e.args.size() ? memo_[e.args[arg]][l] : 0;
        };
        for (std::size_t l = 0; l < e.type.lanes; ++l)
          out.push_back(interpret_scalar(e.op, k_.exprs[e.args.back()].type.dtype, e.type.dtype,
                                         lane(0, l), lane(1, l), lane(2, l)));
        return out;
      }
      case tir::Kind::fold_lanes:
        return fold(e);
      case tir::Kind::dot: {
        Lanes out = memo_[e.args[2]];
        for (std::size_t l = 0; l < 4 * out.size(); ++l) {
          const auto x = static_cast<std::uint8_t>(memo_[e.args[0]][l]);
          const auto y = static_cast<std::int8_t>(memo_[e.args[1]][l]);
          out[l / 4] = static_cast<std::uint32_t>(out[l / 4] + static_cast<Lane>(x * y));
        }
        return out;
      }
    }
    return {};
  }

  /// Evaluates `root` and what it needs, in order of id. Nothing is kept between statements.
  Lanes value(tir::ExprId root) {
    memo_.resize(k_.exprs.size());
    std::vector<bool> need(root + 1, false);
    need[root] = true;
    for (std::size_t id = root + 1; id-- > 0;)
      if (need[id])
        for (tir::ExprId a : k_.exprs[id].args) need[a] = true;
    for (std::size_t id = 0; id <= root; ++id)
      if (need[id]) memo_[id] = expression(k_.exprs[id]);
    return memo_[root];
  }

  void statements(const std::vector<tir::StmtId>& list) {
    for (tir::StmtId id : list)
      if (fault_.empty()) statement(k_.stmts[id]);
  }

  void statement(const tir::Stmt& s) {
    switch (s.kind) {
      case tir::StmtKind::assign:
        vars_[s.target] = value(s.value);
        return;
      case tir::StmtKind::store:
        return store(s);
      case tir::StmtKind::branch:
        return statements(value(s.value)[0] ? s.body : s.other);
      case tir::StmtKind::loop: {
        const auto begin = static_cast<std::int64_t>(value(s.begin)[0]),
                   end = static_cast<std::int64_t>(value(s.end)[0]);
        for (std::int64_t i = begin; i < end && fault_.empty(); i += s.step) {
          vars_[s.target] = {static_cast<Lane>(i)};
          statements(s.body);
        }
        return;
      }
    }
  }

  void store(const tir::Stmt& s) {
    const tir::Type t = k_.exprs[s.value].type;
    const Lanes v = value(s.value);
    const Lanes mask = s.mask == tir::none ? Lanes(t.lanes, 1) : value(s.mask);
    value(s.index);
    for (std::size_t l = 0; l < t.lanes; ++l)
      if (mask[l])
        if (std::byte* p = element(s.target, lane_index(s.index, l, s.stride)))
          write_lane(t.dtype, p, v[l]);
  }

  const tir::Kernel& k_;
  std::vector<std::byte*> bases_;
  std::vector<Lanes> vars_, memo_;
  std::string fault_;
};

}  // namespace

Lane read_lane(DType t, const void* element) {
  Lane v = 0;
  std::memcpy(&v, element, bits(t) / 8);  // little-endian
  return t == DType::boolean ? v != 0 : v;
}

void write_lane(DType t, void* element, Lane v) { std::memcpy(element, &v, bits(t) / 8); }

bool same_element(DType t, Lane a, Lane b) {
  if (a == b) return true;
  return is_float(t) && interpret_scalar(ScalarOp::is_nan, t, DType::boolean, a, 0, 0) &&
         interpret_scalar(ScalarOp::is_nan, t, DType::boolean, b, 0, 0);
}

std::string interpret(const tir::Kernel& k, void* const* buf, void* worker, std::int64_t begin,
                      std::int64_t end) {
  return Interpreter(k, buf, worker).run(begin, end);
}

}  // namespace tenon::test
