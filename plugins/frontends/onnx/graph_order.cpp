#include "plugins/frontends/onnx/graph_order.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

namespace tenon::onnx_import {

std::string label(const onnx::NodeProto& n) {
  return !n.name().empty() ? n.name() : n.output_size() ? n.output(0) : n.op_type();
}

std::vector<std::string> names_given_twice(const onnx::GraphProto& g) {
  std::vector<std::string> twice;
  const auto report = [&](const std::string& name, std::string_view what) {
    twice.push_back(fmt::format("'{}' is the name of {}", name, what));
  };
  std::unordered_set<std::string> inputs, initializers, made;
  for (const auto& in : g.input())
    if (!inputs.insert(in.name()).second) report(in.name(), "two inputs");
  for (const auto& t : g.initializer())
    if (!initializers.insert(t.name()).second) report(t.name(), "two initializers");
  for (const auto& n : g.node())
    for (const auto& out : n.output()) {
      if (out.empty()) continue;
      if (inputs.contains(out))
        report(out, "an input and a node's output");
      else if (initializers.contains(out))
        report(out, "an initializer and a node's output");
      else if (!made.insert(out).second)
        report(out, "the outputs of two nodes");
    }
  return twice;
}

int depth_of(const onnx::GraphProto& g, int most) {
  int deepest = 0;
  std::vector<std::pair<const onnx::GraphProto*, int>> stack{{&g, 0}};
  while (!stack.empty() && deepest <= most) {
    const auto [graph, depth] = stack.back();
    stack.pop_back();
    deepest = std::max(deepest, depth);
    for (const auto& n : graph->node())
      for (const auto& a : n.attribute())
        if (a.has_g()) stack.emplace_back(&a.g(), depth + 1);
  }
  return deepest;
}

namespace {

/// Names that a node reads: its inputs and whatever the nodes of its subgraphs read and return.
std::vector<const std::string*> reads(const onnx::NodeProto& node) {
  std::vector<const std::string*> names;
  std::vector<const onnx::NodeProto*> stack{&node};
  while (!stack.empty()) {
    const onnx::NodeProto& n = *stack.back();
    stack.pop_back();
    for (const auto& in : n.input()) names.push_back(&in);
    for (const auto& a : n.attribute()) {
      if (!a.has_g()) continue;
      for (const auto& inner : a.g().node()) stack.push_back(&inner);
      for (const auto& out : a.g().output()) names.push_back(&out.name());
    }
  }
  return names;
}

}  // namespace

// Kahn's algorithm.
std::vector<const onnx::NodeProto*> sorted_nodes(const onnx::GraphProto& g,
                                                 std::vector<std::string>* cycle) {
  std::unordered_map<std::string, int> producer;
  for (int i = 0; i < g.node_size(); ++i)
    for (const auto& out : g.node(i).output())
      if (!out.empty()) producer.emplace(out, i);
  const auto n = static_cast<std::size_t>(g.node_size());
  std::vector<std::vector<int>> users(n);
  std::vector<int> missing(n, 0);
  for (int i = 0; i < g.node_size(); ++i)
    for (const std::string* in : reads(g.node(i)))
      if (auto it = producer.find(*in); it != producer.end()) {
        users[static_cast<std::size_t>(it->second)].push_back(i);
        ++missing[static_cast<std::size_t>(i)];
      }
  std::vector<const onnx::NodeProto*> order;
  std::vector<int> ready;
  for (int i = g.node_size() - 1; i >= 0; --i)
    if (!missing[static_cast<std::size_t>(i)]) ready.push_back(i);
  while (!ready.empty()) {
    const int i = ready.back();
    ready.pop_back();
    order.push_back(&g.node(i));
    auto& us = users[static_cast<std::size_t>(i)];
    for (auto u = us.rbegin(); u != us.rend(); ++u)
      if (--missing[static_cast<std::size_t>(*u)] == 0) ready.push_back(*u);
  }
  for (int i = 0; i < g.node_size(); ++i)
    if (missing[static_cast<std::size_t>(i)] > 0) cycle->push_back(label(g.node(i)));
  return order;
}

}  // namespace tenon::onnx_import
