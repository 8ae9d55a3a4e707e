#include <fmt/format.h>

#include <unordered_set>

#include "core/support/flat_map.h"
#include "core/text/reader.h"
#include "tenon/op.h"
#include "tenon/options.h"

namespace tenon::text {
namespace {

/// Attributes of the schema that the text leaves out take their default; what is missing for good,
/// the verifier reports.
void fill_defaults(const OpDef& def, Attrs& attrs) {
  for (const AttrSpec& spec : def.attrs)
    if (spec.dflt && attrs.find(spec.name) == nullptr) attrs.set(spec.name, *spec.dflt);
}

class FunctionReader {
 public:
  FunctionReader(Reader& r, Module& m, const ReadContext& ctx) : r_(r), m_(m), ctx_(ctx) {}

  void run() {
    f_.loc = r_.loc(r_.take());  // func
    f_.name = r_.name_after_at("the name of the function");
    f_.body.entry = params();
    r_.expect("->", "and the names of the results");
    r_.expect("(", "before the names of the results");
    if (!r_.accept(")")) {
      do f_.result_names.push_back(r_.string("the name of a result"));
      while (r_.more(")"));
    }
    std::optional<ValueId> next;
    if (r_.accept_word("next")) next = r_.index(Tok::percent, "the next value id, like %12");
    if (r_.accept_word("attrs")) f_.attrs = read_attrs(r_, ctx_);
    if (r_.accept_word("loc")) f_.loc = read_loc(r_);
    body(f_.body);
    f_.next_id = next.value_or(end_of_ids_);
    m_.functions.push_back(std::move(f_));
  }

 private:
  /// `(%0 "name": f32[2], ...)` as the entry of a body.
  const Node* params() {
    Node entry{.op = node::param, .loc = r_.loc(r_.peek())};
    std::vector<const Token*> places;
    r_.expect("(", "before the parameters");
    if (!r_.accept(")")) {
      do {
        places.push_back(&r_.peek());
        entry.results.push_back(result());
        r_.expect(":", "and the type of the parameter");
        entry.results.back().type = read_type(r_, ctx_);
      } while (r_.more(")"));
    }
    return define(m_.make(std::move(entry)), places);
  }

  NodeResult result() {
    NodeResult out;
    out.id = r_.index(Tok::percent, "a value, like %3");
    if (r_.peek().kind == Tok::string) out.name = r_.string("a name");
    return out;
  }

  const Node* define(const Node* n, const std::vector<const Token*>& places) {
    for (std::uint32_t k = 0; k < n->results.size(); ++k) {
      const ValueId id = n->results[k].id;
      if (!values_.try_emplace(id, Value{n, k}).second && !lost_.contains(id))
        r_.error(*places[k], code::twice, fmt::format("value %{} is defined twice", id));
      end_of_ids_ = std::max(end_of_ids_, id + 1);
    }
    return n;
  }

  Value value() {
    const Token& t = r_.peek();
    const std::uint32_t id = r_.index(Tok::percent, "a value, like %3");
    if (const Value* v = values_.find(id)) return *v;
    if (lost_.contains(id)) throw Abandon{};  // its definition has been reported
    r_.fail(t, code::unknown, fmt::format("value %{} is not defined before its use", id),
            "define it before this line");
  }

  /// From `{` to `}`.
  void body(Body& out) {
    r_.expect("{", "before the body");
    bool returned = false;
    while (!r_.accept("}")) {
      if (r_.at_end()) r_.unexpected("`}` after the body");
      if (r_.full()) throw Abandon{};
      const std::size_t start = r_.mark();
      const bool ret = r_.peek().is_word("return");
      if (returned) r_.error(r_.peek(), code::syntax, "nothing may stand after `return`");
      try {
        if (ret)
          results(out);
        else
          out.nodes.push_back(one_node());
      } catch (Abandon) {
        lose(start);
        r_.resync(start);
        if (r_.mark() == start) r_.take();
      }
      returned = returned || ret;
    }
    if (!returned)
      r_.error(r_.token(r_.mark() - 1), code::syntax, "the body does not end with `return`");
  }

  void results(Body& out) {
    const int line = r_.take().line;
    if (r_.peek().kind != Tok::percent || r_.peek().line != line) return;
    do out.results.push_back(value());
    while (r_.accept(","));
  }

  /// The line that starts at `start` failed: uses of what it would have defined are not errors of
  /// their own.
  void lose(std::size_t start) {
    for (std::size_t k = start; k < r_.mark() && !r_.token(k).is("=") && !r_.token(k).is("("); ++k)
      if (const Token& t = r_.token(k);
          t.kind == Tok::percent && t.text.size() < 10 &&
          t.text.find_first_not_of("0123456789") == std::string_view::npos)
        lost_.insert(static_cast<ValueId>(std::stoul(std::string(t.text))));
  }

  const Node* one_node() {
    Node n{.loc = r_.loc(r_.peek())};
    std::vector<const Token*> places;
    if (r_.peek().kind == Tok::percent) {
      do {
        places.push_back(&r_.peek());
        n.results.push_back(result());
      } while (r_.accept(","));
      r_.expect("=", "after the results");
    }
    const Token& op = r_.peek();
    n.op = find_op(op, r_.word_or_string("an operation"));
    if (r_.peek().kind == Tok::at) n.attrs.set("callee", std::string(r_.take().text));
    r_.expect("(", "before the operands");
    if (!r_.accept(")")) {
      do n.operands.push_back(value());
      while (r_.more(")"));
    }
    if (r_.peek().is("{")) attributes(n);
    fill_defaults(m_.ops()[n.op], n.attrs);
    for (std::size_t k = 0; k < n.results.size(); ++k) {
      r_.expect(k ? "," : ":", "and the type of each result");
      n.results[k].type = read_type(r_, ctx_);
    }
    if (r_.accept_word("loc")) n.loc = read_loc(r_);
    while (r_.accept_word("region")) n.regions.push_back(region());
    return define(m_.make(std::move(n)), places);
  }

  void attributes(Node& n) {
    const Token& t = r_.peek();
    Attrs attrs = read_attrs(r_, ctx_);
    if (n.attrs.find("callee") != nullptr && attrs.find("callee") != nullptr)
      r_.error(t, code::twice, "attribute `callee` is given twice");
    for (const auto& [key, v] : attrs) n.attrs.set(key, v);
  }

  OpId find_op(const Token& t, const std::string& name) {
    if (auto id = m_.ops().find(name)) return *id;
    const std::string near = did_you_mean(name, m_.ops().names());
    r_.fail(t, code::unknown, fmt::format("there is no operation `{}`", name),
            near.empty() ? "" : fmt::format("did you mean `{}`?", near));
  }

  Body region() {
    const Reader::Deeper deeper(r_);
    Body out;
    out.entry = params();
    body(out);
    return out;
  }

  Reader& r_;
  Module& m_;
  const ReadContext& ctx_;
  Function f_;
  FlatMap<ValueId, Value> values_;
  std::unordered_set<ValueId> lost_;
  ValueId end_of_ids_ = 0;
};

}  // namespace

void read_function(Reader& r, Module& m, const ReadContext& ctx) {
  FunctionReader(r, m, ctx).run();
}

}  // namespace tenon::text
