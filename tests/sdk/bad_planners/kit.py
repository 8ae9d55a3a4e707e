#!/usr/bin/env python3
"""The conformance kit finds the fault that was planted in each bad planner, by the check that is there for it, and finds
none in the planners that ship.   kit.py TENON SOURCE_FOLDER BINARY_FOLDER"""
import json
import pathlib
import subprocess
import sys

tenon, source, binary = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
failed = 0


def kit(planner, *args):
    r = subprocess.run([tenon, "kit", "run", str(planner), "--requests", "200", "--json", *args], capture_output=True, text=True)
    if r.returncode not in (0, 1):
        sys.exit(f"{planner}: exit {r.returncode}\n{r.stdout}{r.stderr}")
    return {c["check"]: c["fault"] for c in json.loads(r.stdout)["checks"] if not c["ok"]}


def judge(ok, text):
    global failed
    failed += not ok
    print(("ok     " if ok else "FAILED ") + text)


planted = sorted(f for f in source.iterdir() if f.suffix in (".c", ".cpp"))
for f in planted:
    check = f.read_text().splitlines()[0].removeprefix("// ")
    faults = kit(binary / f"bad-{f.stem}.so", "--only", check)
    judge(list(faults) == [check], f"{f.stem}: {check}: {faults.get(check, 'not found')}")
judge(len(planted) >= 10, f"{len(planted)} planted faults")
shipped = source.parents[2] / "plugins" / "planners"  # `file` plans nothing without a file
for good in sys.argv[4:] or sorted(f.name for f in shipped.iterdir() if f.is_dir() and f.name != "file"):
    faults = kit(good)
    judge(not faults, f"{good}: {faults or 'no fault'}")
sys.exit(1 if failed else 0)
