#include <fmt/format.h>

#include <array>

#include "core/ir/verify_body.h"

namespace tenon {
namespace {

constexpr std::array<std::string_view, 10> kind_names = {
    "a boolean",         "an integer",         "a real number",
    "a string",          "a list of integers", "a list of real numbers",
    "a list of strings", "an element type",    "a type",
    "a constant"};
constexpr std::array<AttrKind, 10> kind_of_alternative = {
    AttrKind::boolean, AttrKind::integer, AttrKind::real,  AttrKind::string, AttrKind::ints,
    AttrKind::reals,   AttrKind::strings, AttrKind::dtype, AttrKind::type,   AttrKind::constant};
static_assert(std::variant_size_v<AttrValue> == kind_of_alternative.size());

/// Whether a value declared as `declared` may be `actual`: a symbol may stand for a size that is
/// known by now.
bool admits(const TensorType& declared, const TensorType& actual) {
  if (declared.dtype != actual.dtype || declared.lanes != actual.lanes ||
      declared.rank() != actual.rank())
    return false;
  for (std::size_t k = 0; k < declared.rank(); ++k)
    if (declared.dims[k] != actual.dims[k] &&
        (declared.dims[k].is_static() || !actual.dims[k].is_static()))
      return false;
  return true;
}

/// Checks one node; `at_` names it in every message.
class NodeVerifier {
 public:
  NodeVerifier(const Module& m, const ModuleIndex& index, const Node& n, Breaches& out)
      : m_(m), index_(index), n_(n), def_(m.ops()[n.op]), out_(out) {}

  void run() {
    bool ok = counts();
    ok = attributes() && ok;
    if (!ok) return;
    if (n_.op == node::constant)
      constant();
    else if (n_.op == node::primitive)
      region_signature(13, 0, operand_types(0), false);
    else if (n_.op == node::branch)
      branch();
    else if (n_.op == node::loop)
      loop();
    else if (n_.op == node::call)
      call();
    else if (n_.op == node::call_kernel)
      call_kernel();
    else if (n_.op == node::view)
      view();
    else if (n_.op == node::join)
      join();
    else if (n_.op == node::copy || n_.op == node::debug)
      pass_on();
    else if (def_.infer != nullptr)
      inferred();
  }

 private:
  void breach(int law, const std::string& what, std::string fix = "") {
    out_.add(law, n_.loc, fmt::format("{}: {}", describe(m_, n_), what), std::move(fix));
  }
  std::string text(const TensorType& t) const { return tenon::text(m_, t); }

  static std::string range(std::uint32_t lo, std::uint32_t hi) {
    return hi == UINT32_MAX ? fmt::format("at least {}", lo)
           : lo == hi       ? fmt::format("{}", lo)
                            : fmt::format("{} to {}", lo, hi);
  }

  bool counts() {
    const std::size_t operands = n_.operands.size();
    bool ok = true;
    if (operands < def_.min_operands ||
        (operands > def_.max_operands && def_.max_operands != UINT32_MAX)) {
      breach(9, fmt::format("takes {} operands, got {}",
                            range(def_.min_operands, def_.max_operands), operands));
      ok = false;
    }
    if (def_.n_results != UINT32_MAX && n_.results.size() != def_.n_results) {
      breach(9, fmt::format("gives {} results, got {}", def_.n_results, n_.results.size()));
      ok = false;
    }
    const std::size_t regions = n_.op == node::branch                             ? 2
                                : n_.op == node::loop || n_.op == node::primitive ? 1
                                                                                  : 0;
    if (n_.regions.size() != regions) {
      breach(9, fmt::format("has {} regions, got {}", regions, n_.regions.size()));
      ok = false;
    }
    for (const Body& r : n_.regions) ok = ok && r.entry != nullptr;
    return ok;
  }

  bool attributes() {
    bool ok = true;
    for (const AttrSpec& spec : def_.attrs) {
      const AttrValue* v = n_.attrs.find(spec.name);
      if (v == nullptr) {
        breach(10, fmt::format("attribute `{}` is missing", spec.name), spec.doc);
        ok = false;
      } else if (kind_of_alternative[v->index()] != spec.kind) {
        breach(10,
               fmt::format("attribute `{}` is {}, not {}", spec.name, kind_names[v->index()],
                           kind_names[static_cast<std::size_t>(spec.kind)]),
               spec.kind == AttrKind::real ? "write a real number with a point: 1.0" : "");
        ok = false;
      }
    }
    for (const auto& [key, v] : n_.attrs) ok = constant_attribute(key, v) && ok;
    return ok;
  }

  bool constant_attribute(const std::string& key, const AttrValue& v) {
    if (const auto* t = std::get_if<TensorType>(&v)) {
      const std::string why = breach_of_type(m_, *t);
      if (!why.empty()) breach(3, fmt::format("attribute `{}`: {}", key, why));
      return why.empty();
    }
    const auto* c = std::get_if<Constant>(&v);
    if (c == nullptr) return true;
    if (*c == nullptr) {
      breach(18, fmt::format("attribute `{}` is a constant without data", key));
      return false;
    }
    if (const std::string why = breach_of_type(m_, (*c)->type); !why.empty()) {
      breach(3, fmt::format("attribute `{}`: {}", key, why));
      return false;
    }
    const auto bytes = byte_size((*c)->type);
    if (!bytes || *bytes != (*c)->bytes.size()) {
      breach(18, fmt::format("attribute `{}`: a constant of type {} has {} bytes", key,
                             text((*c)->type), (*c)->bytes.size()));
      return false;
    }
    return true;
  }

  void constant() {
    const auto* c = n_.attrs.get<Constant>("value");
    if (c == nullptr) return breach(18, "a constant needs an attribute `value`");
    if ((*c)->type != n_.results[0].type)
      breach(11, fmt::format("the result is {}, but the constant is {}", text(n_.results[0].type),
                             text((*c)->type)));
  }

  void inferred() {
    const auto types = infer_types(m_, n_.op, n_.operands, n_.attrs, n_.regions, n_.loc);
    if (!types) {
      for (Diag d : types.errors()) {
        d.notes.push_back("in " + describe(m_, n_));
        if (d.code == 0) d.code = 3011;
        out_.add(std::move(d));
      }
      return;
    }
    match_results(11, *types, "the type rule");
  }

  /// `types` are what the node's results should have.
  void match_results(int law, const std::vector<TensorType>& types, std::string_view who) {
    if (types.size() != n_.results.size())
      return breach(
          law, fmt::format("{} results, but {} says {}", n_.results.size(), who, types.size()));
    for (std::size_t k = 0; k < types.size(); ++k)
      if (!admits(n_.results[k].type, types[k]))
        breach(law, fmt::format("result %{} is {}, but {} says {}", n_.results[k].id,
                                text(n_.results[k].type), who, text(types[k])));
  }

  std::vector<TensorType> operand_types(std::size_t from) const {
    std::vector<TensorType> out;
    for (std::size_t k = from; k < n_.operands.size(); ++k) out.push_back(n_.operands[k].type());
    return out;
  }

  /// Region `r` has parameters of types `params` and its results are those of the node.
  void region_signature(int law, std::size_t r, const std::vector<TensorType>& params,
                        bool counted) {
    const Body& body = n_.regions[r];
    const auto& have = body.entry->results;
    if (have.size() != params.size())
      return breach(law, fmt::format("region {} has {} parameters, but {} are passed", r,
                                     have.size(), params.size()));
    for (std::size_t k = 0; k < have.size(); ++k)
      if (!admits(have[k].type, params[k]))
        breach(law, fmt::format("parameter {}%{} of region {} is {}, but {} is passed",
                                counted && k == 0 ? "(counter) " : "", have[k].id, r,
                                text(have[k].type), text(params[k])));
    std::vector<TensorType> types;
    for (const Value& v : body.results)
      if (v.node != nullptr && v.index < v.node->results.size()) types.push_back(v.type());
    match_results(law, types, fmt::format("region {}", r));
  }

  void branch() {
    if (n_.operands[0].type() != TensorType(DType::boolean, std::vector<Dim>{}))
      breach(14, fmt::format("operand 0 is {}, not bool[]", text(n_.operands[0].type())));
    for (std::size_t r = 0; r < 2; ++r) region_signature(14, r, {}, false);
  }

  void loop() {
    const TensorType counter(DType::i64, std::vector<Dim>{});
    if (n_.operands[0].type() != counter)
      breach(14, fmt::format("operand 0 is {}, not i64[]", text(n_.operands[0].type())));
    std::vector<TensorType> params = operand_types(0);
    params[0] = counter;
    region_signature(14, 0, params, true);
    match_results(14, operand_types(1), "the carried operands");
  }

  const std::string* callee(int law) {
    const auto* name = n_.attrs.get<std::string>("callee");
    if (name == nullptr) breach(law, "a call needs a string attribute `callee`");
    return name;
  }

  void call() {
    const std::string* name = callee(15);
    if (name == nullptr) return;
    const auto it = index_.functions.find(*name);
    if (it == index_.functions.end())
      return breach(15, fmt::format("there is no function @{}", *name));
    const Function& f = *it->second;
    if (f.body.entry == nullptr) return;
    if (f.n_params() != n_.operands.size())
      return breach(15, fmt::format("@{} has {} parameters, got {} operands", *name, f.n_params(),
                                    n_.operands.size()));
    for (std::uint32_t k = 0; k < n_.operands.size(); ++k)
      if (!admits(f.param(k).type(), n_.operands[k].type()))
        breach(15, fmt::format("parameter {} of @{} is {}, got {}", k, *name,
                               text(f.param(k).type()), text(n_.operands[k].type())));
    std::vector<TensorType> types;
    for (const Value& v : f.body.results)
      if (v.node != nullptr && v.index < v.node->results.size()) types.push_back(v.type());
    match_results(15, types, "@" + *name);
  }

  void call_kernel() {
    const std::string* name = callee(16);
    if (name == nullptr) return;
    const auto it = index_.kernels.find(*name);
    if (it == index_.kernels.end()) return breach(16, fmt::format("there is no kernel @{}", *name));
    const tir::Kernel& k = it->second->kernel;
    std::size_t in = 0, out = 0;
    for (const tir::Buffer& b : k.buffers) {
      if (b.scope == tir::Scope::input) {
        if (in < n_.operands.size()) buffer(b, n_.operands[in].type(), "operand", in);
        ++in;
      } else if (b.scope == tir::Scope::output) {
        if (out < n_.results.size()) buffer(b, n_.results[out].type, "result", out);
        ++out;
      }
    }
    if (in != n_.operands.size())
      breach(16, fmt::format("@{} has {} inputs, got {} operands", *name, in, n_.operands.size()));
    if (out != n_.results.size())
      breach(16, fmt::format("@{} has {} outputs, got {} results", *name, out, n_.results.size()));
  }

  void buffer(const tir::Buffer& b, const TensorType& t, const char* what, std::size_t k) {
    const auto n = elements(t);
    if (b.dtype == t.dtype && n && *n * t.lanes == b.elements) return;
    breach(16, fmt::format("{} {} is {}, but the kernel's buffer `{}` holds {} of {}", what, k,
                           text(t), b.name, b.elements, name(b.dtype)));
  }

  void view() {
    const auto* offset = n_.attrs.get<std::int64_t>("offset");
    if (offset == nullptr) return breach(17, "a view needs an integer attribute `offset`");
    const auto whole = byte_size(n_.operands[0].type()), part = byte_size(n_.results[0].type);
    if (!whole || !part) return;  // symbolic: the plan is made after shapes are static
    const auto end =
        *offset < 0 ? std::nullopt : checked_add(static_cast<std::uint64_t>(*offset), *part);
    if (!end || *end > *whole)
      breach(17, fmt::format("{} bytes at offset {} do not lie within the operand's {} bytes",
                             *part, *offset, *whole));
  }

  void join() {
    std::uint64_t sum = 0;
    for (const Value& v : n_.operands) {
      if (v.type().dtype != n_.results[0].type.dtype)
        breach(17, fmt::format("an operand is {}, the result {}", text(v.type()),
                               text(n_.results[0].type)));
      const auto part = byte_size(v.type());
      if (!part) return;  // as for views
      sum = checked_add(sum, *part).value_or(UINT64_MAX);
    }
    const auto whole = byte_size(n_.results[0].type);
    if (whole && *whole != sum)
      breach(17, fmt::format("the operands have {} bytes, the result has {}", sum, *whole));
  }

  void pass_on() { match_results(17, {n_.operands[0].type()}, "the operand"); }

  const Module& m_;
  const ModuleIndex& index_;
  const Node& n_;
  const OpDef& def_;
  Breaches& out_;
};

}  // namespace

std::string text(const Module& m, const TensorType& t) {
  std::vector<std::string> names;
  for (const SymbolInfo& s : m.symbols) names.push_back(s.name);
  return to_string(t, &names);
}

std::string describe(const Module& m, const Node& n) {
  std::string s;
  for (const NodeResult& r : n.results) {
    s += fmt::format("{}%{}", s.empty() ? "" : ", ", r.id);
    if (!r.name.empty()) s += fmt::format(" \"{}\"", r.name);
  }
  return s + (s.empty() ? "" : " = ") + (n.op.v < m.ops().size() ? m.ops()[n.op].name : "?");
}

std::string breach_of_type(const Module& m, const TensorType& t) {
  if (t.lanes == 0) return "an element has no lanes";
  bool known = true;
  for (const Dim& d : t.dims) {
    known = known && d.is_static();
    if (!d.is_static() && d.symbol_index() >= m.symbols.size())
      return fmt::format("symbol number {} does not exist; the module has {}", d.symbol_index(),
                         m.symbols.size());
  }
  return known && !byte_size(t) ? "the size passes 2^63 bytes" : "";
}

void verify_node(const Module& m, const ModuleIndex& index, const Node& n, Breaches& out) {
  NodeVerifier(m, index, n, out).run();
}

}  // namespace tenon
