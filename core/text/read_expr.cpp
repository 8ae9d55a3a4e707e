#include "core/text/read_expr.h"

#include <fmt/format.h>

#include <bit>

#include "core/text/number.h"
#include "core/text/write_expr.h"

namespace tenon::text {
namespace {

std::optional<ScalarOp> operator_of(const Token& t) {
  using enum ScalarOp;
  if (t.kind != Tok::symbol) return std::nullopt;
  for (ScalarOp op : {logical_or, logical_and, eq, ne, lt, le, gt, ge, add, sub, mul, div, mod})
    if (t.raw == infix_of(op).spelling) return op;
  return std::nullopt;
}

}  // namespace

ExprReader::ExprId ExprReader::expr(int strength) {
  const Reader::Deeper deeper(r_);
  ExprId left = primary();
  while (const std::optional<ScalarOp> op = operator_of(r_.peek())) {
    const int binds = infix_of(*op).strength;
    if (binds < strength) break;
    r_.take();
    const ExprId right = expr(binds + 1);
    left = scalar(*op, {left, right});
  }
  return left;
}

void ExprReader::line() {
  const Token& name = r_.take();
  r_.expect("=", "after the name of an expression");
  const ExprId before = count();
  const Token& first = r_.peek();
  ExprId id = expr();
  if (count() == before) {
    if (first.kind == Tok::percent && first.text[0] == 'e')
      r_.fail(first, code::syntax,
              "an expression of its own must stand here, not only the name of another");
    id = add_copy(id);  // like an earlier one
  }
  if (!names_.try_emplace(std::string(name.text), id).second)
    r_.fail(name, code::twice, fmt::format("%{} is defined twice", name.text));
}

void ExprReader::lose_line(std::size_t start) {
  if (r_.token(start).kind == Tok::percent)
    names_.try_emplace(std::string(r_.token(start).text), tir::none);
}

std::vector<ExprReader::ExprId> ExprReader::args(std::string_view close) {
  std::vector<ExprId> out;
  if (r_.accept(close)) return out;
  do out.push_back(expr());
  while (r_.more(close));
  return out;
}

tir::Type ExprReader::suffix(tir::Type otherwise) {
  if (!r_.accept(":")) return otherwise;
  const auto t = r_.peek().kind == Tok::word ? element_type(r_.peek().raw) : std::nullopt;
  if (!t) r_.unexpected("the type of the expression");
  r_.take();
  return {t->first, t->second};
}

ExprReader::ExprId ExprReader::leaf(std::uint32_t kind, const tir::Type& t, std::uint32_t n,
                                    double f, std::int64_t i) {
  const auto [it, fresh] =
      leaves_.try_emplace({kind, t.dtype, t.lanes, n, std::bit_cast<std::uint64_t>(f), i}, count());
  return fresh ? add_leaf(kind, t, n, f, i) : it->second;
}

std::uint16_t ExprReader::lanes_in_angles() {
  r_.expect("<", "and a number of lanes");
  const Token& t = r_.peek();
  const std::uint64_t n = r_.natural("a number of lanes");
  if (n > UINT16_MAX) r_.fail(t, code::number, fmt::format("{} lanes are too many", n));
  r_.expect(">", "after the lanes");
  return static_cast<std::uint16_t>(n);
}

std::string ExprReader::word_in_angles(std::string_view what) {
  r_.expect("<", fmt::format("and {}", what));
  if (r_.peek().kind != Tok::word) r_.unexpected(what);
  std::string word(r_.take().raw);
  r_.expect(">", fmt::format("after {}", what));
  return word;
}

ExprReader::ExprId ExprReader::primary() {
  const Token& t = r_.peek();
  const bool word = t.kind == Tok::word;
  if (t.is("-") || t.kind == Tok::integer || t.kind == Tok::real || t.is_word("inf") ||
      t.is_word("nan") || t.is_word("true") || t.is_word("false"))
    return literal();
  if (r_.accept("(")) {
    const ExprId id = expr();
    r_.expect(")", "after an expression");
    if (r_.peek().is(":")) set_type(id, suffix({}));
    return id;
  }
  if (t.kind == Tok::percent && t.text[0] == 'e' && !r_.peek(1).is("[")) {
    const auto it = names_.find(t.text);
    if (it == names_.end())
      r_.fail(t, code::unknown, fmt::format("there is no expression %{} before this line", t.text));
    if (it->second == tir::none) throw Abandon{};  // reported where it is defined
    r_.take();
    return it->second;
  }
  if (t.is_word("cast") || t.is_word("bitcast")) return call(*scalar_op_of(t.raw));
  if (word && r_.peek(1).is("("))
    if (auto op = scalar_op_of(t.raw)) return call(*op);
  return special();
}

ExprReader::ExprId ExprReader::literal() {
  const Token& first = r_.peek();
  if (first.is_word("true") || first.is_word("false")) {
    const bool v = r_.take().raw == "true";
    return leaf(immediate_kind, {DType::boolean, 1}, 0, 0, v);
  }
  const bool bits = first.is_word("nan") && r_.peek(1).is("(");
  const std::string digits = r_.number("a number");
  const bool whole = !bits && integer_of(digits).has_value();
  const tir::Type t = suffix({whole ? DType::i64 : DType::f32, 1});
  if (bits) {
    const auto raw = digits.starts_with("0x") ? hex_of(digits) : std::nullopt;
    if (!raw || !is_float(t.dtype))
      r_.fail(first, code::number, "these are not the bits of a NaN of 64 bits");
    return leaf(immediate_kind, t, 0, std::bit_cast<double>(*raw), 0);
  }
  if (!is_float(t.dtype)) {
    const auto v = integer_of(digits);
    if (!v) r_.fail(first, code::number, fmt::format("{} is not an integer of 64 bits", digits));
    return leaf(immediate_kind, t, 0, 0, *v);
  }
  const auto v = real_of(digits);
  if (!v) r_.fail(first, code::number, fmt::format("{} is out of range", digits));
  return leaf(immediate_kind, t, 0, *v, 0);
}

ExprReader::ExprId ExprReader::call(ScalarOp op) {
  const Token& name = r_.take();
  if (op == ScalarOp::cast || op == ScalarOp::bitcast) {
    const auto t = element_type(word_in_angles("the type of the result"));
    if (!t) r_.fail(name, code::unknown, "this is not a type");
    r_.expect("(", "before the operand");
    return add_scalar(op, {t->first, t->second}, args(")"));
  }
  r_.expect("(", "before the operands");
  const ExprId id = scalar(op, args(")"));
  if (r_.peek().is(":")) set_type(id, suffix({}));
  return id;
}

ExprReader::ExprId ExprReader::scalar(ScalarOp op, std::vector<ExprId> args) {
  tir::Type t =
      args.empty() ? tir::Type{} : type_of(args[op == ScalarOp::select && args.size() > 1 ? 1 : 0]);
  if (is_comparison(op) || op == ScalarOp::is_nan) t.dtype = DType::boolean;
  return add_scalar(op, t, std::move(args));
}

}  // namespace tenon::text
