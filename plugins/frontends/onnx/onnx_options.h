// What a pipeline may ask of this frontend.
#ifndef TENON_PLUGINS_FRONTENDS_ONNX_ONNX_OPTIONS_H
#define TENON_PLUGINS_FRONTENDS_ONNX_ONNX_OPTIONS_H

#include <string>
#include <tuple>
#include <vector>

#include "tenon/options.h"

namespace tenon::onnx_import {

struct OnnxOptions {
  std::vector<std::string> fix;
  static constexpr auto fields() {
    return std::tuple{Field{"fix", &OnnxOptions::fix,
                            "inputs that become constants, as NAME=NUMBER: all their elements have "
                            "that value, and branches that it decides are gone"}};
  }
};

}  // namespace tenon::onnx_import

#endif
