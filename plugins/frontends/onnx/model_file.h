// From a file to a checked ModelProto, and from a TensorProto to a Constant. Everything in the file
// is distrusted: sizes, counts and paths are checked before use.
#ifndef TENON_PLUGINS_FRONTENDS_ONNX_MODEL_FILE_H
#define TENON_PLUGINS_FRONTENDS_ONNX_MODEL_FILE_H

#include <onnx/onnx_pb.h>

#include <filesystem>

#include "tenon/ir.h"

namespace tenon::onnx_import {

/// Parses the file. TN7001 unreadable, TN7002 not an ONNX model.
Result<onnx::ModelProto> read_model(const std::filesystem::path& path);

/// nullopt when Tenon has no such type (strings, complex).
std::optional<DType> dtype_of_onnx(int data_type);

/// The data of `t`, which may lie in a file beside the model (`folder`). TN7010 for every way in
/// which it can lie: unknown type, negative dims, sizes that disagree, a path that leaves the
/// model's folder, a file that is missing or short.
Result<Constant> constant_of_proto(const onnx::TensorProto& t, const std::filesystem::path& folder,
                                   const Loc& loc);

}  // namespace tenon::onnx_import

#endif
