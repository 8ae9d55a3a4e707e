// What each call does, in the words of the module.
#ifndef TENON_PLUGINS_EXECUTORS_AOT_COMMENTS_H
#define TENON_PLUGINS_EXECUTORS_AOT_COMMENTS_H

#include <map>
#include <string>

#include "tenon/ir.h"

namespace tenon::aot_executor {

/// By the name of a call's first result, which is its step's: "relu1 = tn_m_conv2d_relu(image,
/// weight)". Without names that two calls share.
std::map<std::string, std::string> call_comments(const Module& m);

}  // namespace tenon::aot_executor

#endif
