#!/usr/bin/env python3
"""Which room may include which, and where op names may stand. Run: layers.py <repo root>; exit 1 lists every breach.

ROOMS: the longest matching path prefix wins; the set holds the rooms whose headers it may include, besides its own folder.
THIRD: a third-party include prefix and the only rooms that may use it.
NAMELESS: rooms that must treat every op alike: no string there may be the name of an op of core/ops.
"""
import pathlib
import re
import sys

ROOMS = {
    "sdk/include": {"sdk/include"},
    "core": {"core", "sdk/include"},
    "passes": {"passes", "sdk/include"},
    "plugins": {"sdk/include"},
    "sdk": {"sdk/include"},
    "tests": {"tests", "core", "sdk/include"},
}
THIRD = {
    "yaml-cpp/": ("core/pipeline",),
    "boost/": ("core/plugin_host", "passes"),
    "llvm": ("plugins/targets/llvm",),
    "lld/": ("plugins/targets/llvm",),
    "google/protobuf": ("plugins/frontends/onnx",),
    "onnx/": ("plugins/frontends/onnx",),
    "dnnl": ("plugins/vendors/onednn", "tests/bench"),
    "CLI/": ("core/cli",),
    "fmt/": ("core", "passes", "plugins", "tests"),
    "nlohmann/": ("core", "plugins", "sdk/runtime", "tests"),
    "openssl/": ("core",),
    "xxhash": ("core/ir", "plugins/executors/graph", "sdk/runtime", "tests/support"),
    "doctest/": ("tests", "sdk/kit", "sdk/template"),
    "benchmark/": ("tests/bench",),
}
NAMELESS = ("plugins/lowerings", "plugins/targets", "plugins/executors", "sdk/runtime")
# Scalar operations of tensor expressions (tenon/scalar.h) share names with ops; a back end has to spell those.
SCALAR_HEADER = "sdk/include/tenon/scalar.h"

SOURCES = {".h", ".hpp", ".c", ".cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def room_of(path):
    return max((r for r in ROOMS if path == r or path.startswith(r + "/")), key=len, default=None)


def inside(path, rooms):
    return any(path.startswith(r + "/") for r in rooms)


def own_folder(path):
    """plugins/<slot>/<name>, sdk/<name>: what a file may include besides ROOMS."""
    parts = path.split("/")
    depth = {"plugins": 3, "sdk": 2}.get(parts[0])
    return "/".join(parts[:depth]) + "/" if depth and len(parts) > depth else path.rsplit("/", 1)[0] + "/"


def include_breaches(here, text):
    mine = room_of(here)
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        inc = match[1]
        for lib, only in THIRD.items():
            if inc.startswith(lib) and not inside(here, only):
                yield f"{here}:{number}: <{inc}> belongs only in {', '.join(only)}"
        if ".." in inc.split("/"):
            yield f'{here}:{number}: "{inc}" climbs out with ..'
        target = "sdk/include" if inc.startswith("tenon/") else room_of(inc)
        if target and target not in ROOMS[mine] and not inc.startswith(own_folder(here)):
            yield f'{here}:{number}: {mine} may not include {target} ("{inc}")'


def op_names(root):
    names = {m[1] for f in (root / "core/ops").glob("*.cpp") for m in
             re.finditer(r'\.name\s*=\s*"([a-z][a-z0-9_]*)"', f.read_text())}
    names |= {f.stem for f in (root / "core/ops").glob("*.cpp")}
    scalars = root / SCALAR_HEADER
    if scalars.exists():
        body = re.search(r"enum class ScalarOp.*?\{(.*?)\};", COMMENT.sub("", scalars.read_text()), re.S)
        names -= set(re.findall(r"[a-z_]\w*", body[1]))
    return names


def name_breaches(here, text, names):
    if not inside(here, NAMELESS):
        return
    # Comments go, line numbers stay.
    text = COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text)
    for number, line in enumerate(text.splitlines(), 1):
        if INCLUDE.match(line):
            continue
        for match in STRING.finditer(line):
            if match[1] in names:
                yield f'{here}:{number}: names the op "{match[1]}"; ask its traits or its compute description'


def breaches(root):
    names = op_names(root)
    for top in ("core", "passes", "plugins", "sdk", "tests"):
        for f in sorted(p for p in (root / top).rglob("*") if p.suffix in SOURCES):
            here, text = f.relative_to(root).as_posix(), f.read_text()
            yield from include_breaches(here, text)
            yield from name_breaches(here, text, names)


if __name__ == "__main__":
    found = list(breaches(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found) or "layers: ok")
    sys.exit(bool(found))
