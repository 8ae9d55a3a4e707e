// Calls what nobody defines; linked without -z defs.
#include "tenon/plugin.h"

int nobody_defines_this();

static void describe(tenon::Registration&) { nobody_defines_this(); }
TENON_PLUGIN("undefined", "1.0.0", "an undefined symbol", describe, TN_KIND_PASS);
