// Types of the model's inputs: what the file declares, with the shapes and dims that were asked
// for.
#ifndef TENON_PLUGINS_FRONTENDS_ONNX_INPUT_TYPES_H
#define TENON_PLUGINS_FRONTENDS_ONNX_INPUT_TYPES_H

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tenon/frontend.h"

namespace tenon::onnx_import {

/// `'a', 'b' and 3 more`
std::string spell(const std::vector<std::string>& names, std::size_t cap = 6);

class InputTypes {
 public:
  explicit InputTypes(const ImportRequest& request) : request_(request) {}
  /// Types of all inputs that neither an initializer nor the option `fix` gives, by name; every
  /// refusal is reported.
  Result<std::vector<NodeResult>> of(const onnx::GraphProto& g);

  struct Fixed {
    std::string name;
    TensorType type;
    double value = 0;
  };
  /// Inputs that are constants.
  const std::vector<Fixed>& fixed() const { return fixed_; }

 private:
  void refuse(int code, std::string what, std::string fix = "export the model again") {
    errors_.push_back(Diag{.code = code,
                           .loc = {request_.path, 0, 0},
                           .what = std::move(what),
                           .fix = std::move(fix)});
  }
  void type(const onnx::ValueInfoProto& in);
  void read_fixed();
  void check_request();

  const ImportRequest& request_;
  std::vector<NodeResult> params_;
  std::vector<Fixed> fixed_;
  std::map<std::string, double> to_fix_;
  std::vector<std::string> names_;
  std::set<std::string> open_dims_;
  Diags errors_;
};

}  // namespace tenon::onnx_import

#endif
