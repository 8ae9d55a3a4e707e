#!/usr/bin/env python3
"""Planners on the eleven hard instances of the minimalloc suite, beside what other systems reach there.

Without --at: a row per planner and budget with peak over the max-live bound, as geometric mean, worst, and per instance;
1 is the optimum of all eleven. The rows marked * are the figures of other systems' rules on the same instances.
With --at 1MiB or bound: the planner must fit that capacity. `goal=fit` is set (exact has that option), and a row per
instance says how many seeds fitted it, and the user CPU seconds they took, mean and worst.

Budgets are units of work of 10 ns, so that a busy machine does not change a plan. Instances are read from
$TENON_SHARED/planning (default ../shared).

    tests/bench/planning.py                                            greedy and auto at 50 ms and 1 s
    tests/bench/planning.py --planners all --work 100M                 everything that ships
    tests/bench/planning.py --planners ./my_planner.so --only ADG      one of your own, on three instances
    tests/bench/planning.py --planners exact --at bound --work 1G --seeds 3
"""
import argparse
import math
import os
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = "ABCDEFGHIJK"
ANCHORS = [("storage tokens, x16 size matching", 2.22, 3.92), ("greedy by size, holes unfilled", 1.94, 2.49),
           ("start order, best fit", 1.52, 1.95), ("largest first, best fit", 1.363, 1.44),
           ("largest first, first fit", 1.338, 1.41), ("best of 12 orders and fits", 1.284, 1.39),
           ("hill climbing, 500 tries", 1.231, None), ("hill climbing, 10 s", 1.199, None),
           ("local search over the order, 10 s", 1.167, 1.21)]
SHIPPED = sorted(p.name for p in (ROOT / "plugins" / "planners").iterdir() if p.is_dir() and p.name != "file")


def units(text):
    return int(float(text[:-1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[text[-1]]) if text[-1] in "kMG" else int(text)


def user_seconds():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def solve(args, name, capacity, planner, work, settings):
    """(peak, bound, user seconds); peak None when nothing fits."""
    csv = pathlib.Path(os.environ.get("TENON_SHARED", ROOT.parent / "shared")) / "planning" / f"{name}.1048576.csv"
    command = [args.tenon, "plan", "solve", str(csv), "--planner", planner]
    command += ["--pool", f"p:{capacity}"] if capacity else []
    command += ["--work", str(work)] if work else []
    for s in settings:
        command += ["--set", s]
    before = user_seconds()
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    took = user_seconds() - before
    if out.returncode not in (0, 1):  # 1: no plan
        sys.exit(out.stderr)
    row = re.search(r"^p0?\s+\S+\s+(\d+)\s+(\d+)", out.stdout, re.M)
    return (int(row[1]), int(row[2]), took) if row else (None, None, took)


def row(name, work, mean, worst, cells=()):
    print(f"{name:<36} {work:>11}  {mean:>6}  {worst:>6}  " + " ".join(f"{c:>7}" for c in cells), flush=True)


def quality(args, planner, work):
    cells, logs = [], []
    for name in args.only:
        peak, bound, took = solve(args, name, None, planner, work, [])
        if peak is None:
            cells.append("no plan")
            continue
        logs.append(math.log(peak / bound))
        cells.append(f"{peak / bound:.4f}")
    mean = math.exp(sum(logs) / len(logs)) if logs else math.nan
    worst = math.exp(max(logs)) if logs else math.nan
    row(planner, work, f"{mean:.4f}", f"{worst:.4f}", cells)


def fitting(args, planner, work):
    print(f"{planner}, capacity {args.at}: seeds that fit, mean and worst user seconds")
    for name in args.only:
        capacity = 1048576
        if args.at == "bound" or name == "C":
            capacity = solve(args, name, None, "greedy", units("1M"), [])[1]
        took, fits = [], 0
        for seed in range(args.seeds):
            peak, _, seconds = solve(args, name, capacity, planner, work, ["goal=fit", f"seed={seed}"])
            fits += peak is not None
            took.append(seconds)
        print(f"  {name}  {capacity:>8}  {fits}/{args.seeds}  {sum(took) / len(took):.3f}  {max(took):.3f}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tenon", default=str(ROOT / "build/release/bin/tenon"))
    p.add_argument("--planners", default="greedy,auto", help="ids or plugin files with commas between, or all")
    p.add_argument("--work", default="5M,100M", help="budgets in units of 10 ns, with k, M or G (100M is about a second)")
    p.add_argument("--at", choices=["none", "1MiB", "bound"], default="none", help="capacity that must be fitted (C: the bound)")
    p.add_argument("--seeds", type=int, default=1, help="of --at: how many runs per instance")
    p.add_argument("--only", default=NAMES, help="instances, e.g. ADG")
    args = p.parse_args()
    if args.at == "none":
        row("planner", "work", "mean", "worst", args.only)
    for planner in SHIPPED if args.planners == "all" else args.planners.split(","):
        for work in args.work.split(","):
            (quality if args.at == "none" else fitting)(args, planner, units(work))
    if args.at == "none":
        for name, mean, worst in ANCHORS:
            row("* " + name, "", f"{mean:.3f}", f"{worst:.2f}" if worst else "")


if __name__ == "__main__":
    main()
