// Native-tier plugins: one file includes this and says
//
//   static void describe(tenon::Registration& r) { r.add(my_pass()); }
//   TENON_PLUGIN("acme", "1.0.0", "one line of doc", describe)
//
// The macro writes the descriptor (tenon/c/descriptor.h) and exports the entry. The entry only describes; nothing takes
// effect until the host has validated everything the plugin offers.
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include <vector>

#include "tenon/c/descriptor.h"
#include "tenon/executor.h"
#include "tenon/frontend.h"
#include "tenon/lowering.h"
#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/target.h"

namespace tenon {

/// What a plugin offers; collected, then validated, then committed all or nothing.
struct Registration {
  std::vector<OpDef> ops;
  std::vector<PassInfo> passes;
  std::vector<FrontendInfo> frontends;
  std::vector<LoweringInfo> lowerings;
  std::vector<TargetInfo> targets;
  std::vector<ExecutorInfo> executors;

  void add(OpDef x) { ops.push_back(std::move(x)); }
  void add(PassInfo x) { passes.push_back(std::move(x)); }
  void add(FrontendInfo x) { frontends.push_back(std::move(x)); }
  void add(LoweringInfo x) { lowerings.push_back(std::move(x)); }
  void add(TargetInfo x) { targets.push_back(std::move(x)); }
  void add(ExecutorInfo x) { executors.push_back(std::move(x)); }
};

}  // namespace tenon

#endif
