#include "plugins/frontends/onnx/impl.h"

#include <exception>

#include "plugins/frontends/onnx/importer.h"

namespace {

// Protobuf and the standard library report what they cannot hold by exceptions; here they become
// the model's fault.
tenon::Result<tenon::Module> import(const tenon::ImportRequest& request) {
  try {
    return tenon::onnx_import::import_model(request);
  } catch (const std::exception& e) {
    return tenon::Diag{.code = 7002,
                       .loc = {request.path, 0, 0},
                       .what = std::string("cannot be imported: ") + e.what(),
                       .fix = "check that the file is whole and that memory suffices"};
  }
}

}  // namespace

extern "C" tenon::Result<tenon::Module> (*tenon_onnx_impl())(const tenon::ImportRequest&) {
  return import;
}
