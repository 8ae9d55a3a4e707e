#include "comments.h"

#include <fmt/format.h>

#include <vector>

namespace tenon::aot_executor {
namespace {

std::string value_text(Value v) { return v.name().empty() ? fmt::format("%{}", v.id()) : v.name(); }

std::string call_text(const Node& n, const std::string& callee) {
  std::string results, operands;
  for (std::uint32_t i = 0; i < n.results.size(); ++i)
    results += (i ? ", " : "") + value_text({&n, i});
  for (std::size_t i = 0; i < n.operands.size(); ++i)
    operands += (i ? ", " : "") + value_text(n.operands[i]);
  return fmt::format("{} = {}({})", results, callee, operands);
}

}  // namespace

std::map<std::string, std::string> call_comments(const Module& m) {
  std::map<std::string, std::string> out;
  std::vector<const Body*> todo;
  if (m.main()) todo.push_back(&m.main()->body);
  while (!todo.empty()) {
    const Body& body = *todo.back();
    todo.pop_back();
    for (const Node* n : body.nodes) {
      for (const Body& b : n->regions) todo.push_back(&b);
      const auto* callee = n->attrs.get<std::string>("callee");
      if (n->op != node::call_kernel || !callee || n->results.empty()) continue;
      const auto [it, fresh] = out.try_emplace(value_text({n, 0}), call_text(*n, *callee));
      if (!fresh) it->second.clear();
    }
  }
  return out;
}

}  // namespace tenon::aot_executor
