#include "plugins/frontends/onnx/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "plugins/frontends/onnx/model_file.h"
#include "tenon/eval.h"

namespace tenon::onnx_import {
namespace {

// All rows by name.
const std::unordered_map<std::string_view, const OpRow*>& rows() {
  static const auto table = [] {
    std::unordered_map<std::string_view, const OpRow*> t;
    for (auto part : {math_rows(), shape_rows(), network_rows()})
      for (const OpRow& r : part) t[r.name] = &r;
    return t;
  }();
  return table;
}

std::string spell(const std::vector<std::string>& names, std::size_t cap = 6) {
  std::string s;
  for (std::size_t i = 0; i < names.size() && i < cap; ++i) s += (i ? ", '" : "'") + names[i] + "'";
  return names.size() > cap ? s + fmt::format(" and {} more", names.size() - cap) : s;
}

class Importer {
 public:
  Importer(const ImportRequest& request, const onnx::ModelProto& model)
      : request_(request),
        model_(model),
        graph_(model.graph()),
        path_(request.path),
        folder_(path_.parent_path()),
        module_(request.ops) {}

  Result<Module> run() {
    module_.name = path_.stem().string();
    check_opset();
    check_names();
    auto order = sorted_nodes();
    if (!errors_.empty()) return errors_;
    module_.functions.push_back(Function{
        .name = "main", .body = {}, .result_names = {}, .attrs = {}, .next_id = 0, .loc = loc()});
    Builder b(module_, module_.functions.back());
    inputs(b);
    if (!errors_.empty()) return errors_;
    initializers(b);
    for (const onnx::NodeProto* n : order) node(b, *n);
    for (const auto* declared : {&graph_.value_info(), &graph_.output()})
      for (const auto& info : *declared) check_declared(info);
    outputs(b);
    if (!errors_.empty()) return errors_;
    remove_dead(module_);
    module_.compact();
    return std::move(module_);
  }

 private:
  Loc loc() const { return {request_.path, 0, 0}; }

  void refuse(int code, std::string what, std::string fix = "export the model again") {
    errors_.push_back(
        Diag{.code = code, .loc = loc(), .what = std::move(what), .fix = std::move(fix)});
  }

  void check_opset() {
    for (const auto& o : model_.opset_import())
      if (o.domain().empty() || o.domain() == "ai.onnx") opset_ = o.version();
    if (opset_ < min_opset || opset_ > max_opset)
      refuse(7003,
             fmt::format("the model uses opset {}, opsets {} to {} are read", opset_, min_opset,
                         max_opset),
             "convert it with onnx.version_converter");
  }

  /// A name is given once, to an input, an initializer or a node's output; an initializer may
  /// repeat an input, whose value it then is.
  void check_names() {
    std::unordered_set<std::string> inputs, initializers;
    for (const auto& in : graph_.input())
      if (!inputs.insert(in.name()).second) twice(in.name(), "two inputs");
    for (const auto& t : graph_.initializer())
      if (!initializers.insert(t.name()).second) twice(t.name(), "two initializers");
    std::unordered_set<std::string> made;
    for (const auto& n : graph_.node())
      for (const auto& out : n.output()) {
        if (out.empty()) continue;
        if (inputs.contains(out))
          twice(out, "an input and a node's output");
        else if (initializers.contains(out))
          twice(out, "an initializer and a node's output");
        else if (!made.insert(out).second)
          twice(out, "the outputs of two nodes");
      }
  }

  void twice(const std::string& name, std::string_view what) {
    refuse(7004, fmt::format("'{}' is the name of {}", name, what));
  }

  // ONNX asks for topological order, not every exporter obeys. Kahn's algorithm, first in file
  // order first.
  std::vector<const onnx::NodeProto*> sorted_nodes() {
    std::unordered_map<std::string, int> producer;
    for (int i = 0; i < graph_.node_size(); ++i)
      for (const auto& out : graph_.node(i).output())
        if (!out.empty()) producer.emplace(out, i);
    const auto n = static_cast<std::size_t>(graph_.node_size());
    std::vector<std::vector<int>> users(n);
    std::vector<int> missing(n, 0);
    for (int i = 0; i < graph_.node_size(); ++i)
      for (const auto& in : graph_.node(i).input())
        if (auto it = producer.find(in); it != producer.end()) {
          users[static_cast<std::size_t>(it->second)].push_back(i);
          ++missing[static_cast<std::size_t>(i)];
        }
    std::vector<const onnx::NodeProto*> order;
    std::vector<int> ready;
    for (int i = graph_.node_size() - 1; i >= 0; --i)
      if (!missing[static_cast<std::size_t>(i)]) ready.push_back(i);
    while (!ready.empty()) {
      const int i = ready.back();
      ready.pop_back();
      order.push_back(&graph_.node(i));
      auto& us = users[static_cast<std::size_t>(i)];
      for (auto u = us.rbegin(); u != us.rend(); ++u)
        if (--missing[static_cast<std::size_t>(*u)] == 0) ready.push_back(*u);
    }
    if (order.size() != n) report_cycle(missing);
    return order;
  }

  void report_cycle(const std::vector<int>& missing) {
    std::vector<std::string> names;
    for (int i = 0; i < graph_.node_size(); ++i)
      if (missing[static_cast<std::size_t>(i)] > 0) names.push_back(label(graph_.node(i)));
    refuse(7005, fmt::format("the graph has a cycle through or before the nodes {}", spell(names)));
  }

  static std::string label(const onnx::NodeProto& n) {
    return !n.name().empty() ? n.name() : n.output_size() ? n.output(0) : n.op_type();
  }

  void inputs(Builder& b) {
    std::unordered_set<std::string> initialized;
    for (const auto& t : graph_.initializer()) initialized.insert(t.name());
    std::vector<NodeResult> params;
    std::vector<std::string> names;
    for (const auto& in : graph_.input()) {
      if (initialized.contains(in.name())) continue;
      names.push_back(in.name());
      if (auto t = input_type(in)) params.push_back({*t, 0, in.name()});
    }
    for (const auto& [name, shape] : request_.shapes)
      if (std::ranges::find(names, name) == names.end())
        refuse(7006, fmt::format("a shape is given for '{}', which is no input of the model", name),
               "the inputs are " + spell(names));
    const auto values = b.params(std::move(params));
    for (Value v : values) values_[v.name()] = v;
  }

  std::optional<TensorType> input_type(const onnx::ValueInfoProto& in) {
    if (!in.type().has_tensor_type()) {
      refuse(7007, fmt::format("input '{}' is not a tensor", in.name()),
             "export the model with tensor inputs");
      return std::nullopt;
    }
    const auto& tt = in.type().tensor_type();
    auto dtype = dtype_of_onnx(tt.elem_type());
    if (!dtype) {
      refuse(7007, fmt::format("input '{}' has element type {}, which is not supported", in.name(),
                               tt.elem_type()));
      return std::nullopt;
    }
    const auto given = request_.shapes.find(in.name());
    std::string declared;
    bool open = !tt.has_shape();
    Shape shape;
    for (const auto& d : tt.shape().dim()) {
      const bool known = d.has_dim_value() && d.dim_value() >= 0;
      declared += (declared.empty() ? "" : "x") + (known ? std::to_string(d.dim_value())
                                                   : d.dim_param().empty() ? "?"
                                                                           : d.dim_param());
      open = open || !known;
      shape.push_back(known ? d.dim_value() : -1);
    }
    if (given != request_.shapes.end())
      return with_given(in.name(), *dtype, shape, tt.has_shape(), given->second, declared);
    if (open) {
      refuse(7008,
             fmt::format("input '{}' has shape {}, which is not fixed", in.name(),
                         declared.empty() ? "unknown" : declared),
             fmt::format("give it, e.g. --shape {}={}", in.name(), suggestion(shape)));
      return std::nullopt;
    }
    return TensorType(*dtype, shape);
  }

  static std::string suggestion(const Shape& shape) {
    std::string s;
    for (std::int64_t d : shape) s += (s.empty() ? "" : "x") + std::to_string(d < 0 ? 1 : d);
    return s.empty() ? "1" : s;
  }

  std::optional<TensorType> with_given(const std::string& name, DType dtype, const Shape& declared,
                                       bool has_shape, const Shape& given,
                                       const std::string& text) {
    bool fits = !has_shape || declared.size() == given.size();
    for (std::size_t i = 0; fits && has_shape && i < given.size(); ++i)
      fits = declared[i] < 0 || declared[i] == given[i];
    if (!fits) {
      refuse(7006,
             fmt::format("input '{}' is declared as {}, the shape given is {}", name, text,
                         suggestion(given)),
             "give a shape that fits the declaration");
      return std::nullopt;
    }
    TensorType t(dtype, given);
    if (byte_size(t)) return t;
    refuse(7006, fmt::format("input '{}': the shape given has more than 2^63 - 1 bytes", name));
    return std::nullopt;
  }

  void initializers(Builder& b) {
    for (const auto& t : graph_.initializer()) {
      auto c = constant_of_proto(t, folder_, loc());
      if (!c) {
        errors_.insert(errors_.end(), c.errors().begin(), c.errors().end());
        failed_.insert(t.name());
        continue;
      }
      values_[t.name()] = b.constant(std::move(*c), loc(), t.name());
    }
    if (graph_.sparse_initializer_size())
      refuse(7009, "sparse initializers are not supported", "export dense weights");
  }

  void node(Builder& b, const onnx::NodeProto& n) {
    const auto give_up = [&] {
      for (const auto& out : n.output()) failed_.insert(out);
    };
    std::vector<Value> in;
    bool known = true;
    for (const auto& name : n.input()) {
      auto it = values_.find(name);
      if (name.empty())
        in.push_back({});
      else if (it != values_.end())
        in.push_back(it->second);
      else {
        if (!failed_.contains(name))
          refuse(7004, fmt::format("node '{}' reads '{}', which nothing produces", label(n), name));
        known = false;
      }
    }
    NodeImport ni(b, n, opset_, std::move(in), folder_, loc());
    const bool standard = n.domain().empty() || n.domain() == "ai.onnx";
    auto row = standard ? rows().find(n.op_type()) : rows().end();
    if (row == rows().end()) {
      errors_.push_back(ni.fail(standard ? "the op is not supported"
                                         : fmt::format("domain '{}' is not supported", n.domain()),
                                "see `tenon op list`; an op can be added by a plugin"));
      return give_up();
    }
    if (!known) return give_up();
    if (auto d = arity_error(ni, *row->second)) {
      errors_.push_back(std::move(*d));
      return give_up();
    }
    auto out = row->second->build(ni);
    if (!out) {
      errors_.insert(errors_.end(), out.errors().begin(), out.errors().end());
      return give_up();
    }
    bind(ni, n, std::move(*out));
  }

  static std::optional<Diag> arity_error(const NodeImport& ni, const OpRow& row) {
    if (ni.n_inputs() < row.min_inputs || ni.n_inputs() > row.max_inputs)
      return ni.fail(fmt::format("has {} inputs, {} to {} are read", ni.n_inputs(), row.min_inputs,
                                 row.max_inputs));
    for (std::size_t i = 0; i < row.min_inputs; ++i)
      if (!ni.has(i)) return ni.fail(fmt::format("input {} is missing", i));
    return std::nullopt;
  }

  // Values get the names of the ONNX outputs. Names are data of a node, so the last node is made
  // again with them.
  void bind(NodeImport& ni, const onnx::NodeProto& n, std::vector<Value> out) {
    const auto wanted = static_cast<std::size_t>(n.output_size());
    auto& nodes = ni.b.nodes();
    if (!out.empty() && !nodes.empty() && out[0].node == nodes.back()) {
      std::vector<NodeResult> results = out[0].node->results;
      for (std::size_t k = 0; k < out.size() && k < wanted; ++k)
        if (out[k].node == nodes.back() && results[out[k].index].name.empty())
          results[out[k].index].name = n.output(static_cast<int>(k));
      const Node* old = nodes.back();
      nodes.back() = with_results(module_, *old, std::move(results));
      for (Value& v : out)
        if (v.node == old) v.node = nodes.back();
    }
    for (std::size_t k = 0; k < wanted; ++k) {
      const std::string& name = n.output(static_cast<int>(k));
      if (name.empty()) continue;
      if (k < out.size()) {
        values_[name] = out[k];
        continue;
      }
      errors_.push_back(ni.fail(fmt::format("output {} ('{}') is not supported", k, name)));
      failed_.insert(name);
    }
  }

  /// What the file says of a value that is computed. Dims that are symbols, missing or 0 (so some
  /// exporters write unknown ones) say nothing.
  void check_declared(const onnx::ValueInfoProto& info) {
    const auto it = values_.find(info.name());
    if (it == values_.end() || !info.type().has_tensor_type()) return;
    const auto& tt = info.type().tensor_type();
    const TensorType& is = it->second.type();
    const auto dtype = dtype_of_onnx(tt.elem_type());
    bool fits = !dtype || *dtype == is.dtype;
    if (tt.has_shape()) fits = fits && tt.shape().dim_size() == static_cast<int>(is.rank());
    std::string declared;
    for (int k = 0; tt.has_shape() && k < tt.shape().dim_size(); ++k) {
      const auto& d = tt.shape().dim(k);
      const bool known = d.has_dim_value() && d.dim_value() > 0;
      declared += (k ? ", " : "") + (known ? std::to_string(d.dim_value()) : "?");
      if (fits && known && is.dims[static_cast<std::size_t>(k)].is_static())
        fits = d.dim_value() == is.dims[static_cast<std::size_t>(k)].value();
    }
    if (fits) return;
    refuse(
        7011,
        fmt::format("'{}' is declared as {}[{}], the graph computes {}", info.name(),
                    dtype ? name(*dtype) : "?", tt.has_shape() ? declared : "...", to_string(is)),
        "export the model again, or remove the declaration: it is not what the graph computes");
  }

  void outputs(Builder& b) {
    Function& f = module_.functions.back();
    f.body.nodes = b.take();
    for (const auto& out : graph_.output()) {
      auto it = values_.find(out.name());
      if (it == values_.end()) {
        if (!failed_.contains(out.name()))
          refuse(7004, fmt::format("output '{}' is produced by nothing", out.name()));
        continue;
      }
      f.body.results.push_back(it->second);
      f.result_names.push_back(out.name());
    }
    if (graph_.output_size() == 0) refuse(7004, "the model has no output");
  }

  const ImportRequest& request_;
  const onnx::ModelProto& model_;
  const onnx::GraphProto& graph_;
  std::filesystem::path path_, folder_;
  Module module_;
  std::int64_t opset_ = 0;
  std::unordered_map<std::string, Value> values_;
  std::unordered_set<std::string> failed_;  // values whose producer was refused: not reported again
  Diags errors_;
};

}  // namespace

Result<Module> import_model(const ImportRequest& request) {
  auto model = read_model(request.path);
  if (!model) return model.errors();
  return Importer(request, *model).run();
}

}  // namespace tenon::onnx_import
