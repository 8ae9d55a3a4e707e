// The walk over the graph. Each ONNX op has one row in a table (ops_*.cpp): its name, the opsets it
// is read for, and a function that builds nodes. The walk collects every refusal before it gives
// up.
#ifndef TENON_PLUGINS_FRONTENDS_ONNX_IMPORTER_H
#define TENON_PLUGINS_FRONTENDS_ONNX_IMPORTER_H

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <functional>
#include <map>

#include "tenon/frontend.h"
#include "tenon/rewrite.h"

namespace tenon::onnx_import {

inline constexpr std::int64_t min_opset = 7, max_opset = 21;

/// One node being imported, with what its function needs. Failures go through fail(), which names
/// node, op, opset and file.
class NodeImport {
 public:
  NodeImport(Builder& builder, const onnx::NodeProto& n, std::int64_t model_opset,
             std::vector<Value> inputs, const std::filesystem::path& model_folder, Loc place)
      : b(builder),
        opset(model_opset),
        folder(model_folder),
        loc(std::move(place)),
        node_(n),
        inputs_(std::move(inputs)) {}

  Builder& b;
  const std::int64_t opset;
  const std::filesystem::path& folder;
  const Loc loc;

  std::size_t n_inputs() const { return inputs_.size(); }
  std::size_t n_outputs() const { return static_cast<std::size_t>(node_.output_size()); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i]; }
  /// Input `i`, which validate() has found to be there.
  Value in(std::size_t i) const { return inputs_.at(i); }
  const std::vector<Value>& inputs() const { return inputs_; }
  std::int64_t rank(std::size_t i) const { return static_cast<std::int64_t>(in(i).type().rank()); }
  Shape shape(std::size_t i) const { return in(i).type().shape(); }

  std::int64_t integer(std::string_view name, std::int64_t dflt) const;
  double real(std::string_view name, double dflt) const;
  std::string text(std::string_view name, std::string dflt) const;
  std::optional<std::vector<std::int64_t>> ints(std::string_view name) const;
  const onnx::AttributeProto* attr(std::string_view name) const;

  /// The elements of input `i` as integers or reals, when it is a constant.
  std::optional<std::vector<std::int64_t>> const_ints(std::size_t i) const;
  std::optional<std::vector<double>> const_reals(std::size_t i) const;

  Diag fail(std::string what, std::string fix = "") const;
  /// One Tenon node; the result is folded when it is a small constant.
  Result<Value> op(std::string_view name, std::vector<Value> operands, Attrs attrs = {});
  Result<Value> reshape(Value v, Shape shape) {
    return op("reshape", {v}, {{"shape", std::move(shape)}});
  }
  Value constant_ints(const std::vector<std::int64_t>& v, bool scalar = false);
  Value constant_real(DType t, double v);

 private:
  const onnx::NodeProto& node_;
  std::vector<Value> inputs_;
};

using Outputs = Result<std::vector<Value>>;
inline Outputs one(Result<Value> v) {
  if (!v) return v.errors();
  return std::vector<Value>{*v};
}
struct OpRow {
  const char* name;
  std::size_t min_inputs, max_inputs;
  Outputs (*build)(NodeImport&);
};

std::span<const OpRow> math_rows();
std::span<const OpRow> shape_rows();
std::span<const OpRow> network_rows();
std::span<const OpRow> resize_rows();
std::span<const OpRow> transposed_rows();
std::span<const OpRow> quantised_rows();
std::span<const OpRow> activation_rows();
std::span<const OpRow> reduce_rows();
std::span<const OpRow> index_rows();
std::span<const OpRow> recurrent_rows();
std::span<const OpRow> normalisation_rows();

/// A convolution with the attributes of the node, whose input 0 has the shape of `x`; `bias` may be
/// none.
Result<Value> convolution(NodeImport& n, Value x, Value weights, Value bias);

/// The elements of a constant; nullopt for types that have no exact value there (half floats) or
/// none at all.
std::optional<std::vector<double>> reals_of(const Constant& c);
std::optional<std::vector<std::int64_t>> ints_of(const Constant& c);

/// Axis in [-rank, rank) made non-negative; nullopt when it is outside.
std::optional<std::int64_t> axis_in(std::int64_t axis, std::int64_t rank);

Result<Module> import_model(const ImportRequest& request);

}  // namespace tenon::onnx_import

#endif
