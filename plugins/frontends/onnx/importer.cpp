#include "plugins/frontends/onnx/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "plugins/frontends/onnx/graph_order.h"
#include "plugins/frontends/onnx/input_types.h"
#include "plugins/frontends/onnx/model_file.h"
#include "tenon/eval.h"

namespace tenon::onnx_import {
namespace {

constexpr int most_nested = 60;  // levels of subgraphs; regions nest to 64

// All rows by name.
const std::unordered_map<std::string_view, const OpRow*>& rows() {
  static const auto table = [] {
    std::unordered_map<std::string_view, const OpRow*> t;
    for (auto part : {math_rows(), activation_rows(), reduce_rows(), shape_rows(), index_rows(),
                      network_rows(), normalisation_rows(), transposed_rows(), resize_rows(),
                      quantised_rows(), recurrent_rows()})
      for (const OpRow& r : part) t[r.name] = &r;
    return t;
  }();
  return table;
}

class Importer {
 public:
  Importer(const ImportRequest& request, const ModelFile& file)
      : request_(request),
        file_(file),
        model_(file.model),
        graph_(model_.graph()),
        loc_{request.path, 0, 0},
        path_(request.path),
        folder_(path_.parent_path()),
        module_(request.ops) {}

  Result<Module> run() {
    module_.name = path_.stem().string();
    check_opset();
    if (depth_of(graph_, most_nested) > most_nested)
      refuse(7020, fmt::format("subgraphs nest deeper than {}", most_nested));
    if (!errors_.empty()) return errors_;
    module_.functions.push_back(Function{
        .name = "main", .body = {}, .result_names = {}, .attrs = {}, .next_id = 0, .loc = loc()});
    Builder b(module_, module_.functions.back());
    inputs(b);
    if (!errors_.empty()) return errors_;
    nodes(b, graph_);
    for (const auto* declared : {&graph_.value_info(), &graph_.output()})
      for (const auto& info : *declared) check_declared(info);
    outputs(b);
    if (!errors_.empty()) return errors_;
    remove_dead(module_);
    module_.compact();
    return std::move(module_);
  }

 private:
  const Loc& loc() const { return loc_; }

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

  /// The initializers and nodes of a graph, its inputs being there.
  void nodes(Builder& b, const onnx::GraphProto& g) {
    const std::vector<std::string> twice = names_given_twice(g);
    for (const std::string& what : twice) refuse(7004, what);
    std::vector<std::string> cycle;
    const auto order = sorted_nodes(g, &cycle);
    if (!cycle.empty())
      refuse(7005,
             fmt::format("the graph has a cycle through or before the nodes {}", spell(cycle)));
    if (!twice.empty() || !cycle.empty()) return;
    initializers(b, g);
    for (const onnx::NodeProto* n : order) node(b, *n);
  }

  void inputs(Builder& b) {
    InputTypes types(request_);
    auto params = types.of(graph_);
    if (!params) {
      errors_ = params.errors();
      return;
    }
    for (Value v : b.params(std::move(*params))) values_[v.name()] = v;
    const onnx::NodeProto nobody;
    NodeImport ni(b, nobody, opset_, {}, folder_, loc());
    for (const InputTypes::Fixed& f : types.fixed()) {
      auto v = ni.op("full", {},
                     {{"shape", f.type.shape()}, {"value", f.value}, {"dtype", f.type.dtype}});
      if (v)
        values_[f.name] = *v;
      else
        errors_.insert(errors_.end(), v.errors().begin(), v.errors().end());
    }
  }

  void initializers(Builder& b, const onnx::GraphProto& g) {
    for (int k = 0; k < g.initializer_size(); ++k) {
      const auto& t = g.initializer(k);
      const FileData own =
          &g == &graph_ ? file_.weights.at(static_cast<std::size_t>(k)) : FileData{};
      auto c = constant_of_proto(t, folder_, loc(), own);
      if (!c) {
        errors_.insert(errors_.end(), c.errors().begin(), c.errors().end());
        failed_.insert(t.name());
        continue;
      }
      values_[t.name()] = b.constant(std::move(*c), loc(), t.name());
    }
    if (g.sparse_initializer_size())
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
    if (standard && n.op_type() == "If") return known ? branch(ni, n) : give_up();
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

  /// `If`: the arm that a constant condition chooses becomes part of the graph; else both are
  /// regions.
  void branch(NodeImport& ni, const onnx::NodeProto& n) {
    const auto *then = ni.attr("then_branch"), *other = ni.attr("else_branch");
    const auto give_up = [&](Diag why) {
      errors_.push_back(std::move(why));
      for (const auto& out : n.output()) failed_.insert(out);
    };
    if (!then || !other || !ni.has(0) || ni.in(0).type().dtype != DType::boolean ||
        elements(ni.in(0).type()) != 1)
      return give_up(ni.fail("needs a condition of one boolean and two branches"));
    if (const auto known = ni.const_ints(0)) {
      const auto values = arm(ni.b, n, (*known)[0] != 0 ? then->g() : other->g());
      for (std::size_t k = 0; k < values.size(); ++k)
        if (values[k]) values_[n.output(static_cast<int>(k))] = values[k];
      return;
    }
    auto condition = ni.reshape(ni.in(0), {});
    if (!condition) return give_up(condition.errors()[0]);
    std::vector<Body> regions;
    for (const auto* a : {then, other}) {
      Builder inside(module_, module_.functions.back());
      Body& r = regions.emplace_back();
      r.entry = module_.make(Node{.op = node::param,
                                  .operands = {},
                                  .attrs = {},
                                  .results = {},
                                  .regions = {},
                                  .loc = loc()});
      r.results = arm(inside, n, a->g());
      r.nodes = inside.take();
    }
    std::vector<NodeResult> results;
    for (std::size_t k = 0; k < regions[0].results.size(); ++k) {
      const Value a = regions[0].results[k], b = regions[1].results[k];
      if (!a || !b) return;  // refused already
      if (a.type() != b.type())
        return give_up(ni.fail(fmt::format("output {} is {} in one branch and {} in the other", k,
                                           to_string(a.type()), to_string(b.type()))));
      results.push_back({a.type(), ni.b.fresh_id(), n.output(static_cast<int>(k))});
    }
    const auto made =
        ni.b.raw(node::branch, {*condition}, {}, std::move(results), loc(), std::move(regions));
    for (std::size_t k = 0; k < made.size(); ++k) values_[n.output(static_cast<int>(k))] = made[k];
  }

  /// The values of an arm, one per output of `n`; none where it was refused. Names of the arm end
  /// with it.
  std::vector<Value> arm(Builder& b, const onnx::NodeProto& n, const onnx::GraphProto& g) {
    const auto outside = values_;
    nodes(b, g);
    std::vector<Value> out(static_cast<std::size_t>(n.output_size()));
    for (int k = 0; k < n.output_size(); ++k) {
      const auto it = k < g.output_size() ? values_.find(g.output(k).name()) : values_.end();
      if (it != values_.end()) {
        out[static_cast<std::size_t>(k)] = it->second;
        continue;
      }
      if (k >= g.output_size() || !failed_.contains(g.output(k).name()))
        refuse(7004, fmt::format("output {} of a branch of node '{}' is produced by nothing", k,
                                 label(n)));
      failed_.insert(n.output(k));
    }
    values_ = outside;
    return out;
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
  const ModelFile& file_;
  const onnx::ModelProto& model_;
  const onnx::GraphProto& graph_;
  Loc loc_;  // of everything
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
