// A good native plugin; tests copy and damage it.
#include "tenon/plugin.h"

static tenon::Status run(tenon::Module&, tenon::PassContext&) { return {}; }

static void describe(tenon::Registration& r) {
  tenon::PassInfo pass;
  pass.id = "acme.nothing";
  pass.doc = "Does nothing.";
  pass.options = {{"times", "int", "1", "how often", {1, 9}}};
  pass.run = run;
  r.add(pass);
}
TENON_PLUGIN("acme", "1.2.3", "a pass that does nothing", describe, TN_KIND_PASS);
