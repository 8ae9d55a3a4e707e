// Frontends: a file of another system -> a module whose `main` is the model.
#ifndef TENON_FRONTEND_H
#define TENON_FRONTEND_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tenon/ir.h"
#include "tenon/options.h"

namespace tenon {

struct ImportRequest {
  std::string path;                          ///< absolute
  std::map<std::string, Shape> shapes;       ///< by input name, from --shape; overrides the file's
  std::map<std::string, std::int64_t> dims;  ///< by name of an open dimension, from --dim
  std::shared_ptr<const OpTable> ops;
  OptionValues options;
};

struct FrontendInfo {
  std::string id;  ///< tenon.onnx
  std::string doc;
  std::vector<std::string> extensions;  ///< ".onnx"
  std::vector<OptionRow> options;
  /// Reports *all* refusals at once: node, op, opset, file.
  Result<Module> (*import)(const ImportRequest&) = nullptr;
};

}  // namespace tenon

#endif
