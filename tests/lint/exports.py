#!/usr/bin/env python3
"""Plugins export their `tenon_*` symbols and nothing else, and say NODELETE. Run: exports.py FOLDER..."""
import pathlib
import subprocess
import sys

EXPECTED = {
    "abi": {"tenon_plugin", "tenon_plugin_entry"},
    "stable": {"tenon_plugin", "tenon_planner_at"},
}


def exported(file):
    out = subprocess.run(["nm", "-D", "--defined-only", "--no-demangle", file], check=True, capture_output=True, text=True)
    return {line.split()[-1].split("@")[0] for line in out.stdout.splitlines()}


def is_plugin(file):
    return "tenon_plugin" in exported(file)


def faults(file):
    want = EXPECTED["stable" if file.parent.name == "stable" else "abi"]
    have = exported(file)
    if have != want:
        yield f"{file}: exports {sorted(have)}, not {sorted(want)}"
    dynamic = subprocess.run(["readelf", "-d", file], check=True, capture_output=True, text=True).stdout
    if "NODELETE" not in dynamic:
        yield f"{file}: can be unloaded (link with -z nodelete)"


if __name__ == "__main__":
    # A plugin with a heavy library keeps that in a second shared object, which is no plugin.
    files = [f for d in sys.argv[1:] for f in sorted(pathlib.Path(d).glob("*.so")) if is_plugin(f)]
    found = [fault for f in files for fault in faults(f)]
    print("\n".join(found) or f"exports: {len(files)} plugins ok")
    sys.exit(bool(found) or not files)
