#include "plugins/frontends/onnx/input_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "plugins/frontends/onnx/model_file.h"
#include "plugins/frontends/onnx/onnx_options.h"

namespace tenon::onnx_import {

std::string spell(const std::vector<std::string>& names, std::size_t cap) {
  std::string s;
  for (std::size_t i = 0; i < names.size() && i < cap; ++i) s += (i ? ", '" : "'") + names[i] + "'";
  return names.size() > cap ? s + fmt::format(" and {} more", names.size() - cap) : s;
}

namespace {

/// A shape as --shape takes it; open dims as 1.
std::string suggestion(const Shape& shape) {
  std::string s;
  for (std::int64_t d : shape) s += (s.empty() ? "" : "x") + std::to_string(d < 0 ? 1 : d);
  return s.empty() ? "1" : s;
}

}  // namespace

Result<std::vector<NodeResult>> InputTypes::of(const onnx::GraphProto& g) {
  std::unordered_set<std::string> initialized;
  for (const auto& t : g.initializer()) initialized.insert(t.name());
  read_fixed();
  for (const auto& in : g.input())
    if (!initialized.contains(in.name())) type(in);
  check_request();
  if (!errors_.empty()) return errors_;
  return params_;
}

void InputTypes::read_fixed() {
  for (const std::string& item : read_options<OnnxOptions>(request_.options).fix) {
    const auto eq = item.rfind('=');
    double value = 0;
    if (eq == std::string::npos || eq == 0 || !read_scalar(item.substr(eq + 1), value))
      refuse(7006, fmt::format("the option fix has '{}', which is not NAME=NUMBER", item),
             "write e.g. fix: [rate=16000]");
    else
      to_fix_[item.substr(0, eq)] = value;
  }
}

void InputTypes::check_request() {
  for (const auto& [name, value] : to_fix_)
    if (std::ranges::find(names_, name) == names_.end())
      refuse(7006, fmt::format("the option fix has '{}', which is no input of the model", name),
             "the inputs are " + spell(names_));
  for (const auto& [name, shape] : request_.shapes)
    if (std::ranges::find(names_, name) == names_.end())
      refuse(7006, fmt::format("a shape is given for '{}', which is no input of the model", name),
             "the inputs are " + spell(names_));
  for (const auto& [name, value] : request_.dims)
    if (!open_dims_.contains(name))
      refuse(7006, fmt::format("a value is given for the dim '{}', which no input has", name),
             open_dims_.empty()
                 ? "the model leaves no named dim open"
                 : "the named open dims are " + spell({open_dims_.begin(), open_dims_.end()}));
}

void InputTypes::type(const onnx::ValueInfoProto& in) {
  names_.push_back(in.name());
  if (!in.type().has_tensor_type())
    return refuse(7007, fmt::format("input '{}' is not a tensor", in.name()),
                  "export the model with tensor inputs");
  const auto& tt = in.type().tensor_type();
  auto dtype = dtype_of_onnx(tt.elem_type());
  if (!dtype)
    return refuse(7007, fmt::format("input '{}' has element type {}, which is not supported",
                                    in.name(), tt.elem_type()));
  std::string declared;
  Shape shape;  // with -1 for open dims
  for (const auto& d : tt.shape().dim()) {
    const bool known = d.has_dim_value() && d.dim_value() >= 0;
    if (!known && !d.dim_param().empty()) open_dims_.insert(d.dim_param());
    const auto asked = known ? request_.dims.end() : request_.dims.find(d.dim_param());
    declared += (declared.empty() ? "" : "x") + (known ? std::to_string(d.dim_value())
                                                 : d.dim_param().empty() ? "?"
                                                                         : d.dim_param());
    shape.push_back(known ? d.dim_value() : asked != request_.dims.end() ? asked->second : -1);
  }
  if (const auto given = request_.shapes.find(in.name()); given != request_.shapes.end()) {
    bool fits = !tt.has_shape() || shape.size() == given->second.size();
    for (std::size_t i = 0; fits && tt.has_shape() && i < shape.size(); ++i)
      fits = shape[i] < 0 || shape[i] == given->second[i];
    if (!fits)
      return refuse(7006,
                    fmt::format("input '{}' is declared as {}, the shape given is {}", in.name(),
                                declared, suggestion(given->second)),
                    "give a shape that fits the declaration");
    shape = given->second;
  } else if (!tt.has_shape() || std::ranges::find(shape, -1) != shape.end()) {
    return refuse(7008,
                  fmt::format("input '{}' has shape {}, which is not fixed", in.name(),
                              declared.empty() ? "unknown" : declared),
                  fmt::format("give it, e.g. --shape {}={}, or the value of a named dim with --dim",
                              in.name(), suggestion(shape)));
  }
  const TensorType t(*dtype, shape);
  if (!byte_size(t))
    return refuse(
        7006, fmt::format("input '{}': the shape given has more than 2^63 - 1 bytes", in.name()));
  if (const auto f = to_fix_.find(in.name()); f != to_fix_.end())
    fixed_.push_back({in.name(), t, f->second});
  else
    params_.push_back({t, 0, in.name()});
}

}  // namespace tenon::onnx_import
