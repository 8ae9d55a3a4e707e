#!/usr/bin/env python3
"""layers.py finds each kind of breach in a planted tree, and none in a clean one."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import layers

CLEAN = {
    "core/ops/conv2d.cpp": 'OpDef d{.name = "conv2d"};',
    "core/ops/add.cpp": 'OpDef d{.name = "add"};',
    "sdk/include/tenon/scalar.h": "enum class ScalarOp : int {\n  add, // conv2d\n};",
    "core/x/a.cpp": '#include "core/x/a.h"\n#include "tenon/ir.h"\n#include <fmt/format.h>',
    "plugins/targets/llvm/emit.cpp": '#include "plugins/targets/llvm/emit.h"\n#include <llvm/IR/Module.h>\nauto s = "add";',
    "plugins/lowerings/te/t.cpp": '// "conv2d" is only a comment here\nauto s = "conv2d_of";',
    "tests/unit/a.cpp": '#include <doctest/doctest.h>\n#include "core/x/a.h"\nauto s = "conv2d";',
}
PLANTED = {
    "core/x/b.cpp": '#include "passes/neg.h"',
    "core/x/c.cpp": "#include <llvm/IR/Module.h>",
    "core/x/d.cpp": "#include <yaml-cpp/yaml.h>",
    "passes/e.cpp": '#include "core/ir/verify.h"',
    "plugins/targets/c/f.cpp": '#include "plugins/targets/llvm/emit.h"',
    "plugins/planners/g/g.cpp": '#include "core/storage/judge.h"',
    "sdk/include/tenon/h.h": "#include <fmt/format.h>",
    "core/x/i.cpp": '#include "../y/i.h"',
    "core/x/j.cpp": "#include <boost/dll.hpp>",
    "plugins/lowerings/te/k.cpp": 'if (name == "conv2d") {}',
    "sdk/runtime/l.c": 'int x; /* a\n b */ strcmp(n, "conv2d");',
}


def run(files):
    with tempfile.TemporaryDirectory() as tmp:
        root = pathlib.Path(tmp)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return list(layers.breaches(root))


assert run(CLEAN) == [], run(CLEAN)
for name, text in PLANTED.items():
    found = run(CLEAN | {name: text})
    assert len(found) == 1 and found[0].startswith(name + ":"), (name, found)
assert run(CLEAN | PLANTED) and "sdk/runtime/l.c:2:" in "\n".join(run(CLEAN | PLANTED))
print(f"layers_test: {len(PLANTED)} planted breaches found")
