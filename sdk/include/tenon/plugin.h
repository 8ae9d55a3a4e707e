// Native-tier plugins: one file includes this and says
//
//   static void describe(tenon::Registration& r) { r.add(my_pass()); }
//   TENON_PLUGIN("acme", "1.0.0", "one line of doc", describe, TN_KIND_PASS);
//
// The macro writes the descriptor (tenon/c/descriptor.h) and exports the entry. The entry only
// describes; nothing takes effect until the host has validated everything the plugin offers. The
// kinds (last argument, `TN_KIND_PASS | TN_KIND_OP`) may be left out; with them the host loads the
// plugin only when something of that kind and of that id prefix is asked for.
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/c/descriptor.h"
#include "tenon/executor.h"
#include "tenon/frontend.h"
#include "tenon/lowering.h"
#include "tenon/op.h"
#include "tenon/pass.h"
#include "tenon/sdk_hash.h"
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

#if defined(__GLIBCXX__)
#define TN_THIS_STDLIB TN_STDLIB_GNU
#define TN_THIS_STDLIB_DATE __GLIBCXX__
#define TN_THIS_CXX11_ABI _GLIBCXX_USE_CXX11_ABI
#elif defined(_LIBCPP_VERSION)
#define TN_THIS_STDLIB TN_STDLIB_LLVM
#define TN_THIS_STDLIB_DATE _LIBCPP_VERSION
#define TN_THIS_CXX11_ABI 0
#else
#define TN_THIS_STDLIB TN_STDLIB_OTHER
#define TN_THIS_STDLIB_DATE 0
#define TN_THIS_CXX11_ABI 0
#endif
#ifdef _GLIBCXX_DEBUG
#define TN_THIS_GLIBCXX_DEBUG 1
#else
#define TN_THIS_GLIBCXX_DEBUG 0
#endif
#ifdef __cpp_rtti
#define TN_THIS_RTTI 1
#else
#define TN_THIS_RTTI 0
#endif
#ifdef __cpp_exceptions
#define TN_THIS_EXCEPTIONS 1
#else
#define TN_THIS_EXCEPTIONS 0
#endif

/// Initialiser of a tn_fingerprint that says how this file is compiled; the host compiles the same
/// line.
#define TN_FINGERPRINT_NATIVE                                                                    \
  {                                                                                              \
    TENON_SDK_HASH, TN_THIS_STDLIB, TN_THIS_CXX11_ABI, TN_THIS_GLIBCXX_DEBUG, TN_THIS_RTTI,      \
        TN_THIS_EXCEPTIONS, sizeof(std::string), sizeof(std::vector<int>),                       \
        sizeof(std::function<void()>), sizeof(std::shared_ptr<int>), sizeof(std::optional<int>), \
        {0, 0, 0, 0, 0, 0}, TN_THIS_COMPILER_VERSION, TN_THIS_LANGUAGE, TN_THIS_STDLIB_DATE,     \
        TN_THIS_COMPILER, TN_THIS_NDEBUG, TN_THIS_SANITIZERS, 0                                  \
  }

/// `describe`: void(tenon::Registration&). What it throws is caught by the host and is the plugin's
/// fault. Follow with `;`.
#define TENON_PLUGIN(id, version, doc, describe, ...)                              \
  extern "C" TN_EXPORT void tenon_plugin_entry(tenon::Registration* registration); \
  extern "C" void tenon_plugin_entry(tenon::Registration* registration) {          \
    describe(*registration);                                                       \
  }                                                                                \
  TN_DESCRIPTOR(TN_TIER_NATIVE, 0u __VA_OPT__(| (__VA_ARGS__)), id, version, doc,  \
                TN_FINGERPRINT_NATIVE)

#endif
