#include "fmt/format.h"
#include "tenon/rewrite.h"

namespace tenon {

std::vector<Value> Builder::params(std::vector<NodeResult> params) {
  for (NodeResult& p : params) p.id = fresh_id();
  const auto n = static_cast<std::uint32_t>(params.size());
  f_.body.entry = m_.make(Node{node::param, {}, {}, std::move(params), {}, f_.loc});
  std::vector<Value> out;
  for (std::uint32_t i = 0; i < n; ++i) out.push_back({f_.body.entry, i});
  return out;
}

std::vector<Value> Builder::raw(OpId op, std::vector<Value> operands, Attrs attrs,
                                std::vector<NodeResult> results, const Loc& loc,
                                std::vector<Body> regions) {
  for (NodeResult& r : results) r.id = fresh_id();
  const auto n = static_cast<std::uint32_t>(results.size());
  const Node* made = m_.make(
      Node{op, std::move(operands), std::move(attrs), std::move(results), std::move(regions), loc});
  nodes_.push_back(made);
  std::vector<Value> out;
  for (std::uint32_t i = 0; i < n; ++i) out.push_back({made, i});
  return out;
}

Result<std::vector<Value>> Builder::add(OpId op, std::vector<Value> operands, Attrs attrs,
                                        const Loc& loc, std::vector<std::string> names,
                                        std::vector<Body> regions) {
  auto full = complete_attrs(m_.ops()[op], attrs, loc);
  if (!full) return full.errors();
  auto types = infer_types(m_, op, operands, *full, regions, loc);
  if (!types) return types.errors();
  std::vector<NodeResult> results;
  for (std::size_t k = 0; k < types->size(); ++k)
    results.push_back({std::move((*types)[k]), 0, k < names.size() ? names[k] : std::string()});
  return raw(op, std::move(operands), std::move(*full), std::move(results), loc,
             std::move(regions));
}

Value Builder::make(OpId op, std::vector<Value> operands, Attrs attrs, const Loc& loc,
                    std::string name) {
  auto v = add(op, std::move(operands), std::move(attrs), loc, {std::move(name)});
  if (!v) TENON_BUG("a pass built an ill-typed node: " + v.errors()[0].what);
  return (*v)[0];
}

Value Builder::make(std::string_view op, std::vector<Value> operands, Attrs attrs, const Loc& loc,
                    std::string name) {
  return make(m_.ops().at(op), std::move(operands), std::move(attrs), loc, std::move(name));
}

Value Builder::constant(Constant c, const Loc& loc, std::string name) {
  TensorType t = c->type;
  return raw(node::constant, {}, Attrs{{"value", std::move(c)}},
             {{std::move(t), 0, std::move(name)}}, loc)[0];
}

}  // namespace tenon
