// The thin half of tenon.onnx. Protobuf and the importer are loaded at the first import.
#include "tenon/plugin.h"

#include "plugins/frontends/onnx/impl.h"
#include "plugins/frontends/onnx/onnx_options.h"
#include "tenon/implementation.h"

namespace {

tenon::Result<tenon::Module> import(const tenon::ImportRequest& request) {
  auto entry = tenon::load_implementation(
      reinterpret_cast<const void*>(&import), "onnx/tenon-onnx-impl.so", "tenon_onnx_impl",
      "install Tenon again, with protobuf (libprotobuf32) and ONNX (libonnx1)");
  if (!entry) return entry.errors();
  return reinterpret_cast<decltype(&tenon_onnx_impl)>(*entry)()(request);
}

void describe(tenon::Registration& r) {
  r.add(tenon::FrontendInfo{.id = "tenon.onnx",
                            .doc = "Imports ONNX models, opset 7 to 21, with external data.",
                            .extensions = {".onnx"},
                            .options = tenon::option_rows<tenon::onnx_import::OnnxOptions>(),
                            .import = import});
}

}  // namespace

TENON_PLUGIN("tenon.onnx", "0.1.0", "frontend tenon.onnx: ONNX models", describe, TN_KIND_FRONTEND);
