// A native plugin that goes wrong in the way that the build id of its descriptor names. Tests copy
// the file and write the fault's name there, so one build serves all faults that happen at run
// time.
#define TENON_PLUGIN_BUILD_ID "none"
#include <signal.h>
#include <unistd.h>

#include <clocale>
#include <stdexcept>
#include <string_view>

#include "tenon/plugin.h"

TN_EXTERN_C const tn_descriptor tenon_plugin;

static bool fault(std::string_view name) {
  const char* text = tenon_plugin.build_id;
  asm("" : "+r"(text));  // the compiler knows what stood there before the test wrote something else
  return name == text;
}

__attribute__((constructor)) static void change_the_process() {
#ifdef __x86_64__
  if (fault("flush-to-zero")) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
  if (fault("locale")) std::setlocale(LC_ALL, "C.UTF-8");
  if (fault("folder") && ::chdir("/") != 0) return;
  if (fault("handler")) ::signal(SIGSEGV, SIG_IGN);
}

static tenon::Status run(tenon::Module&, tenon::PassContext&) { return {}; }

static tenon::PassInfo pass(const char* id) {
  tenon::PassInfo p;
  p.id = id;
  p.doc = "A pass.";
  p.run = run;
  return p;
}

static void describe(tenon::Registration& r) {
  if (fault("nothing")) return;
  tenon::PassInfo p = pass(fault("prefix") ? "tenon.stolen" : "acme.faulty");
  if (fault("no-doc")) p.doc.clear();
  if (fault("no-function")) p.run = nullptr;
  if (fault("option")) p.options = {{"times", "int", "77", "how often", {1, 9}}};
  r.add(pass("acme.fine"));  // must not survive a fault beside it
  r.add(p);
  if (fault("twice")) r.add(p);
  if (fault("kind")) {
    tenon::OpDef op;
    op.name = "acme.half";
    op.doc = "out = in / 2";
    r.add(op);
  }
  if (fault("throw")) throw std::runtime_error("the licence server is down");
  if (fault("throw-int")) throw 42;
}
TENON_PLUGIN("acme", "1.0.0", "a fault", describe, TN_KIND_PASS);
