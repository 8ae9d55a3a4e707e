#include "core/text/write_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text/number.h"
#include "core/text/token.h"
#include "core/text/write.h"

namespace tenon::text {

bool is_reserved(std::string_view word) {
  static constexpr std::string_view words[] = {
      "bitcast", "broadcast", "by",  "cast", "dot",  "else", "false", "fold", "for",
      "if",      "inf",       "nan", "ramp", "step", "to",   "true",  "yield"};
  return std::ranges::find(words, word) != std::end(words);
}

std::vector<bool> bare_names(const std::vector<std::string>& names) {
  constexpr std::size_t longest = 32;
  std::map<std::string_view, int> uses;
  for (const std::string& n : names) ++uses[n];
  std::vector<bool> out;
  for (const std::string& n : names)
    out.push_back(uses[n] == 1 && n.size() <= longest && is_word(n) && !is_reserved(n));
  return out;
}

Infix infix_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::logical_or:
      return {"||", 1};
    case ScalarOp::logical_and:
      return {"&&", 2};
    case ScalarOp::eq:
      return {"==", 3};
    case ScalarOp::ne:
      return {"!=", 3};
    case ScalarOp::lt:
      return {"<", 3};
    case ScalarOp::le:
      return {"<=", 3};
    case ScalarOp::gt:
      return {">", 3};
    case ScalarOp::ge:
      return {">=", 3};
    case ScalarOp::add:
      return {"+", 4};
    case ScalarOp::sub:
      return {"-", 4};
    case ScalarOp::mul:
      return {"*", 5};
    case ScalarOp::div:
      return {"/", 5};
    case ScalarOp::mod:
      return {"%", 5};
    default:
      return {};
  }
}

void ExprWriter::line(ExprId id, std::string_view indent) {
  out_ += fmt::format("{}%e{} = ", indent, id);
  expr(id, 0);
  out_ += "\n";
}

void ExprWriter::lines_before(std::vector<ExprId> roots, std::string_view indent) {
  for (ExprId id : layout_.lines_before(roots)) line(id, indent);
}

void ExprWriter::rest(std::string_view indent) {
  for (ExprId id : layout_.rest()) line(id, indent);
}

void ExprWriter::slot(ExprId id) {
  if (id < shapes_.size() && layout_.in_slot(id))
    expr(id, 0);
  else
    out_ += id < shapes_.size() ? fmt::format("%e{}", id) : "%none";
}

void ExprWriter::operand(ExprId id, int strength) {
  if (id < shapes_.size() && layout_.written_in_place(id))
    expr(id, strength);
  else
    out_ += id < shapes_.size() ? fmt::format("%e{}", id) : "%none";
}

void ExprWriter::suffix(const tir::Type& t, bool needed) {
  if (!needed) return;
  out_ += ":";
  put_element(out_, t.dtype, t.lanes);
}

void ExprWriter::immediate(const tir::Type& t, double f, std::int64_t i) {
  if (t.dtype == DType::boolean && t.lanes == 1 && (i == 0 || i == 1)) {
    out_ += i ? "true" : "false";
    return;
  }
  const bool real = is_float(t.dtype);
  out_ += real ? real_text(f) : std::to_string(i);
  suffix(t, t != tir::Type{real ? DType::f32 : DType::i64, 1});
}

void ExprWriter::call(std::string_view name, const std::vector<ExprId>& args) {
  (out_ += name) += "(";
  for (std::size_t k = 0; k < args.size(); ++k) {
    if (k) out_ += ", ";
    operand(args[k]);
  }
  out_ += ")";
}

void ExprWriter::scalar(ScalarOp op, const std::vector<ExprId>& args, const tir::Type& t,
                        int strength) {
  if (op == ScalarOp::cast || op == ScalarOp::bitcast) {
    (out_ += name(op)) += "<";
    put_element(out_, t.dtype, t.lanes);
    return call(">", args);
  }
  tir::Type read =
      args.empty() ? tir::Type{} : type_of(args[op == ScalarOp::select && args.size() > 1 ? 1 : 0]);
  if (is_comparison(op) || op == ScalarOp::is_nan) read.dtype = DType::boolean;
  const Infix infix = infix_of(op);
  if (infix.spelling.empty() || args.size() != 2) {
    call(name(op), args);
    return suffix(t, t != read);
  }
  const bool closed = t != read || infix.strength < strength;
  if (closed) out_ += "(";
  operand(args[0], infix.strength + (infix.strength == 3));  // comparisons do not chain
  out_ += fmt::format(" {} ", infix.spelling);
  operand(args[1], infix.strength + 1);
  if (closed) out_ += ")";
  suffix(t, t != read);
}

}  // namespace tenon::text
