// What the heavy half exports: the import function.
#ifndef TENON_PLUGINS_FRONTENDS_ONNX_IMPL_H
#define TENON_PLUGINS_FRONTENDS_ONNX_IMPL_H

#include "tenon/frontend.h"

extern "C" __attribute__((visibility("default")))
tenon::Result<tenon::Module> (*tenon_onnx_impl())(const tenon::ImportRequest&);

#endif
