#include <algorithm>

#include "fmt/format.h"
#include "tenon/op.h"

namespace tenon {
namespace {

bool well_formed(std::string_view s) {
  if (s.empty() || s.front() < 'a' || s.front() > 'z') return false;
  return std::ranges::all_of(s, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
}

constexpr std::string_view kind_names[] = {"bool",      "int",         "float",        "string",
                                           "list<int>", "list<float>", "list<string>", "dtype",
                                           "type",      "constant"};

bool fits(AttrKind k, const AttrValue& v) {
  switch (k) {
    case AttrKind::boolean:
      return std::holds_alternative<bool>(v);
    case AttrKind::integer:
      return std::holds_alternative<std::int64_t>(v);
    case AttrKind::real:
      return std::holds_alternative<double>(v);
    case AttrKind::string:
      return std::holds_alternative<std::string>(v);
    case AttrKind::ints:
      return std::holds_alternative<std::vector<std::int64_t>>(v);
    case AttrKind::reals:
      return std::holds_alternative<std::vector<double>>(v);
    case AttrKind::strings:
      return std::holds_alternative<std::vector<std::string>>(v);
    case AttrKind::dtype:
      return std::holds_alternative<DType>(v);
    case AttrKind::type:
      return std::holds_alternative<TensorType>(v);
    case AttrKind::constant:
      return std::holds_alternative<Constant>(v);
  }
  return false;
}

OpDef structural(std::string name, std::string doc, std::uint32_t min, std::uint32_t max,
                 std::uint32_t results, std::vector<AttrSpec> attrs = {}, bool effect = false) {
  OpDef d;
  d.name = std::move(name);
  d.doc = std::move(doc);
  d.min_operands = min;
  d.max_operands = max;
  d.n_results = results;
  d.attrs = std::move(attrs);
  d.effect = effect;
  return d;
}

}  // namespace

OpTable::OpTable() {
  constexpr std::uint32_t any = UINT32_MAX;
  // In the order of node::. `n_results` any: as many as the callee or the region says.
  defs_ = {
      structural("param", "Entry of a body: its results are the parameters.", 0, 0, any),
      structural("constant", "The tensor `value`.", 0, 0, 1,
                 {{"value", AttrKind::constant, "the data", {}}}),
      structural("call", "Results of graph function `callee`.", 0, any, any,
                 {{"callee", AttrKind::string, "function name", {}}}),
      structural("call_kernel", "Outputs of kernel `callee`, given its inputs.", 0, any, any,
                 {{"callee", AttrKind::string, "kernel symbol", {}}}),
      structural("primitive", "A fused group: results of its region.", 0, any, any),
      structural("view", "The operand's bytes from `offset` on, under the result's type.", 1, 1, 1,
                 {{"offset", AttrKind::integer, "bytes", AttrValue(std::int64_t{0})}}),
      structural("copy", "The operand's bytes, in storage of their own.", 1, 1, 1),
      structural("debug", "The operand, shown to debuggers under `label`.", 1, 1, 1,
                 {{"label", AttrKind::string, "name shown", AttrValue(std::string())}}, true),
      structural("if", "Results of region 0 when the operand is true, else of region 1.", 1, 1,
                 any),
      structural(
          "loop",
          "Runs its region operand 0 times; carried values are operands 1.. and the results.", 1,
          any, any),
      structural("join", "The operands' bytes, one after another.", 1, any, 1),
  };
  for (std::uint32_t i = 0; i < defs_.size(); ++i) by_name_[defs_[i].name] = i;
  TENON_CHECK(defs_.size() == node::count);
}

Status OpTable::add(OpDef def) {
  const auto refuse = [&](std::string what, std::string fix) {
    return Status(Diag{
        .code = 1011, .what = fmt::format("op '{}': {}", def.name, what), .fix = std::move(fix)});
  };
  if (!well_formed(def.name)) return refuse("malformed name", "use [a-z][a-z0-9_.-]*");
  if (by_name_.contains(def.name))
    return refuse("the name is taken", "choose another name, with the plugin's prefix");
  if (!def.infer) return refuse("no type rule", "set `infer`");
  if (def.doc.empty()) return refuse("no doc", "say in one sentence what it computes");
  if (def.min_operands > def.max_operands) return refuse("min_operands exceeds max_operands", "");
  std::ranges::sort(def.attrs, {}, &AttrSpec::name);
  for (std::size_t i = 0; i < def.attrs.size(); ++i) {
    const AttrSpec& a = def.attrs[i];
    if (i && def.attrs[i - 1].name == a.name)
      return refuse("attribute '" + a.name + "' is declared twice", "");
    if (a.dflt && !fits(a.kind, *a.dflt))
      return refuse("default of attribute '" + a.name + "' has another type", "");
  }
  by_name_[def.name] = static_cast<std::uint32_t>(defs_.size());
  defs_.push_back(std::move(def));
  return {};
}

std::optional<OpId> OpTable::find(std::string_view name) const {
  auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? std::nullopt : std::optional(OpId{it->second});
}

OpId OpTable::at(std::string_view name) const {
  auto id = find(name);
  if (!id) TENON_BUG(fmt::format("no op named '{}'", name));
  return *id;
}

std::vector<std::string> OpTable::names() const {
  std::vector<std::string> out;
  for (const OpDef& d : defs_) out.push_back(d.name);
  std::ranges::sort(out);
  return out;
}

std::shared_ptr<const OpTable> builtin_ops() {
  auto t = std::make_shared<OpTable>();
  if (Status s = add_builtin_ops(*t); !s) TENON_BUG(s.errors()[0].what);
  return t;
}

std::int64_t OpContext::integer(std::string_view key) const {
  const auto* v = attrs->get<std::int64_t>(key);
  TENON_CHECK(v);
  return *v;
}
const std::vector<std::int64_t>& OpContext::ints(std::string_view key) const {
  const auto* v = attrs->get<std::vector<std::int64_t>>(key);
  TENON_CHECK(v);
  return *v;
}
double OpContext::real(std::string_view key) const {
  const auto* v = attrs->get<double>(key);
  TENON_CHECK(v);
  return *v;
}
Diag OpContext::error(std::string what, std::string fix) const {
  return Diag{.code = 3101, .loc = loc, .what = op + ": " + what, .fix = std::move(fix)};
}

Result<Attrs> complete_attrs(const OpDef& def, const Attrs& attrs, const Loc& loc) {
  Diags errors;
  Attrs out = attrs;
  const auto refuse = [&](std::string what, std::string fix = "") {
    errors.push_back(
        Diag{.code = 3102, .loc = loc, .what = def.name + ": " + what, .fix = std::move(fix)});
  };
  for (const AttrSpec& a : def.attrs) {
    const AttrValue* v = attrs.find(a.name);
    if (!v && a.dflt)
      out.set(a.name, *a.dflt);
    else if (!v)
      refuse("attribute '" + a.name + "' is missing", a.name + ": " + a.doc);
    else if (!fits(a.kind, *v))
      refuse(fmt::format("attribute '{}' is not of type {}", a.name,
                         kind_names[static_cast<int>(a.kind)]));
  }
  // Attributes that the op does not know ride along: annotations of passes and of newer producers.
  if (!errors.empty()) return errors;
  return out;
}

Result<std::vector<TensorType>> infer_types(const Module& m, OpId op,
                                            std::span<const Value> operands, const Attrs& attrs,
                                            std::span<const Body> regions, const Loc& loc) {
  const OpDef& def = m.ops()[op];
  if (operands.size() < def.min_operands || operands.size() > def.max_operands) {
    const std::string need =
        def.min_operands == def.max_operands
            ? std::to_string(def.min_operands)
            : fmt::format("{}..{}", def.min_operands,
                          def.max_operands == UINT32_MAX ? "" : std::to_string(def.max_operands));
    return Diag{
        .code = 3103,
        .loc = loc,
        .what = fmt::format("{}: needs {} operands, got {}", def.name, need, operands.size())};
  }
  std::vector<TensorType> types;
  types.reserve(operands.size());
  for (Value v : operands) types.push_back(v.type());
  TENON_CHECK(def.infer != nullptr);
  auto result = def.infer(OpContext{&m, types, &attrs, regions, loc, def.name});
  if (result)
    for (const TensorType& t : *result)
      if (t.is_static() && !byte_size(t))
        return Diag{
            .code = 3104,
            .loc = loc,
            .what = fmt::format("{}: {} has more than 2^63 - 1 bytes", def.name, to_string(t))};
  return result;
}

Result<te::Compute> compute_of(const Module& m, const Node& n) {
  const OpDef& def = m.ops()[n.op];
  if (!def.compute)
    return Diag{.code = 3105,
                .loc = n.loc,
                .what = def.name + ": has no compute description",
                .fix = "lower it by a pass of your own"};
  std::vector<TensorType> types;
  types.reserve(n.operands.size());
  for (Value v : n.operands) types.push_back(v.type());
  const OpContext ctx{&m, types, &n.attrs, n.regions, n.loc, def.name};
  const auto all_static = [](const TensorType& t) { return t.is_static(); };
  if (!std::ranges::all_of(types, all_static) ||
      !std::ranges::all_of(n.results, all_static, &NodeResult::type))
    return ctx.error("its types are not static", "give the input shapes with --shape");
  te::Builder b(types);
  if (Status s = def.compute(ctx, b); !s) return s.errors();
  return b.take();
}

Result<te::Compute> compute_of(const Module& m, const Body& body,
                               std::vector<Constant>* constants) {
  using Source =
      std::pair<std::int32_t, std::uint32_t>;  // (part, its output), or (-1, outer input)
  std::unordered_map<Value, Source, ValueHash> source;
  std::vector<TensorType> inputs;
  for (std::uint32_t i = 0; i < body.entry->results.size(); ++i) {
    source[{body.entry, i}] = {-1, i};
    inputs.push_back(body.entry->results[i].type);
  }
  std::vector<te::Compute> computes;
  computes.reserve(body.nodes.size());
  std::vector<te::Part> parts;
  for (const Node* n : body.nodes) {
    if (n->op == node::constant) {
      source[{n, 0}] = {-1, static_cast<std::uint32_t>(inputs.size())};
      inputs.push_back(n->results[0].type);
      TENON_CHECK(constants != nullptr);
      constants->push_back(*n->attrs.get<Constant>("value"));
      continue;
    }
    auto c = compute_of(m, *n);
    if (!c) return c.errors();
    const auto part = static_cast<std::int32_t>(parts.size());
    computes.push_back(std::move(*c));
    te::Part p;
    for (Value v : n->operands) p.inputs.push_back(source.at(v));
    parts.push_back(std::move(p));
    for (std::uint32_t k = 0; k < n->results.size(); ++k) source[{n, k}] = {part, k};
  }
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].compute = &computes[i];
  std::vector<std::pair<std::uint32_t, std::uint32_t>> results;
  for (Value v : body.results) {
    const Source s = source.at(v);
    if (s.first < 0)
      return Diag{.code = 3106,
                  .loc = v.node->loc,
                  .what = "a primitive returns one of its own inputs",
                  .fix = "return it from the caller"};
    results.emplace_back(static_cast<std::uint32_t>(s.first), s.second);
  }
  return te::compose(std::move(inputs), parts, results);
}

}  // namespace tenon
