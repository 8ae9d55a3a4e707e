#!/usr/bin/env python3
"""Planners on the eleven hard instances: peak over the max-live bound, and the time it took.

    tests/bench/planning.py [--tenon build/release/bin/tenon] [--planners greedy,auto] [--work 5M,100M]
                            [--at none|1MiB|bound] [--seeds N] [--only ABC]

Instances are read from $TENON_SHARED/planning (default ../shared). Work is in units of 10 ns. User CPU seconds, so that a
busy machine does not matter much. With --at 1MiB or bound the planner must fit that capacity: `goal=fit` is set, and each
row says how many seeds did. The anchors are other systems' rules on the same instances.
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
ANCHORS = [("greedy by size, holes unfilled", 1.94, 2.49), ("largest first, best fit", 1.363, 1.44),
           ("largest first, first fit", 1.338, 1.41), ("best of 12 orders and fits", 1.284, 1.39),
           ("hill climbing, 10 s", 1.199, None), ("local search over the order, 10 s", 1.167, 1.21)]


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
    print(f"{planner:<10}{work or 'all':>12}  {mean:.4f}  {worst:.4f}  " + " ".join(f"{c:>7}" for c in cells), flush=True)


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
    p.add_argument("--planners", default="greedy,auto")
    p.add_argument("--work", default="5M,100M")
    p.add_argument("--at", choices=["none", "1MiB", "bound"], default="none")
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--only", default=NAMES)
    args = p.parse_args()
    if args.at == "none":
        print(f"{'planner':<10}{'work':>12}  {'mean':<6}  {'worst':<6}  " + " ".join(f"{n:>7}" for n in args.only))
    for planner in args.planners.split(","):
        for work in args.work.split(","):
            (quality if args.at == "none" else fitting)(args, planner, units(work))
    if args.at == "none":
        for name, mean, worst in ANCHORS:
            print(f"{name:<34}{mean:.3f}  {worst if worst else '':}")


if __name__ == "__main__":
    main()
