// From a file to a checked ModelProto, and from a TensorProto to a Constant. Everything in the file
// is distrusted: sizes, counts and paths are checked before use.
#ifndef TENON_PLUGINS_FRONTENDS_ONNX_MODEL_FILE_H
#define TENON_PLUGINS_FRONTENDS_ONNX_MODEL_FILE_H

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "tenon/ir.h"

namespace tenon::onnx_import {

/// Bytes that stand in a mapped file.
struct FileData {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> file;
};

/// A model, and the data of its large initializers, which the message does not hold: most of a
/// model is weights, and they are used where the file is mapped.
struct ModelFile {
  onnx::ModelProto model;
  std::vector<FileData> weights;  ///< by initializer of the graph; no file: in the message
};

/// Maps and parses the file. TN7001 unreadable, TN7002 not an ONNX model.
Result<ModelFile> read_model(const std::filesystem::path& path);

/// nullopt when Tenon has no such type (strings, complex).
std::optional<DType> dtype_of_onnx(int data_type);

/// The data of `t`: `own`, when it was taken out of the message; else it may lie in a file beside
/// the model (`folder`). TN7010 for every way in
/// which it can lie: unknown type, negative dims, sizes that disagree, a path that leaves the
/// model's folder, a file that is missing or short.
Result<Constant> constant_of_proto(const onnx::TensorProto& t, const std::filesystem::path& folder,
                                   const Loc& loc, const FileData& own = {});

}  // namespace tenon::onnx_import

#endif
