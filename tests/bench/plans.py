#!/usr/bin/env python3
"""Memory of models under each planner, beside what an arena at run time takes, as a Markdown table.

  plans.py MODEL.onnx|REQUEST.json ... [--pool ram] [--work N] [--board B]

Per model: tokens of the pool, bytes without sharing, start-order best fit (tensors come in the order in which they are made,
each into the smallest gap that fits: what allocators at run time do), the planners, the bound, and whether `auto` is proved."""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

TENON = os.environ.get("TENON", str(pathlib.Path(__file__).parents[2] / "build/release/bin/tenon"))
PLANNERS = ["greedy", "auto"]


def round_up(x, m):
    return (x + m - 1) // m * m


def start_order_best_fit(request, pool):
    """Peak of best fit in the order of first steps; alignment, granule and pins are kept, hints are not used."""
    granule = next(p.get("granule", 1) for p in request["pools"] if p["id"] == pool)
    tokens = [t for t in request["tokens"] if t["pools"] == [pool]]
    live, peak = [], 0  # (offset, end offset, end step)
    for t in sorted(tokens, key=lambda t: (t["live"][0], "at" not in t)):
        live = sorted(x for x in live if x[2] > t["live"][0])
        size, align = round_up(t["size"], granule), max(t.get("align", 1), granule)
        best, at = None, 0
        for lo, hi, _ in live + [(None, None, None)]:
            if lo is None:
                break
            if lo >= at + size and (best is None or lo - at < best[0]):
                best = (lo - at, at)
            at = max(at, round_up(hi, align))
        offset = t.get("at", best[1] if best else at)
        live.append((offset, offset + size, t["live"][1]))
        peak = max(peak, offset + size)
    return peak, len(tokens)


def run(*args):
    r = subprocess.run([TENON, *map(str, args)], capture_output=True, text=True)
    if r.returncode:
        raise SystemExit(f"tenon {' '.join(map(str, args))}: exit {r.returncode}\n{r.stderr.strip()}")
    return r.stdout


def row(model, a):
    with tempfile.TemporaryDirectory() as folder:
        request_file = model
        if not model.endswith(".json"):
            request_file = f"{folder}/r.json"
            run("compile", model, "-o", f"{folder}/out", *(["--set", f"board={a.board}"] if a.board else []))
            run("plan", "export", f"{folder}/out", "-o", request_file)
        arena, n = start_order_best_fit(json.loads(pathlib.Path(request_file).read_text()), a.pool)
        table = run("plan", "compare", request_file, "--planners", ",".join(["naive", *PLANNERS]), "--work", a.work, "--json")
    rows = {x["planner"].removeprefix("tenon."): x for x in json.loads(table)}
    use = {p: next(u for u in x["pools"] if u["id"] == a.pool) for p, x in rows.items()}
    auto = use["auto"]
    proved = "bound" if auto["peak"] == auto["bound"] else "proved" if rows["auto"]["optimal"] else "no"
    return [pathlib.Path(model).stem, n, use["naive"]["peak"], arena, *(use[p]["peak"] for p in PLANNERS), auto["bound"], proved]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="+")
    p.add_argument("--pool", default="ram")
    p.add_argument("--work", type=int, default=1_000_000_000)
    p.add_argument("--board")
    a = p.parse_args()
    heads = ["model", "tokens", "no sharing", "start order, best fit", *PLANNERS, "bound", "optimal"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for model in a.models:
        print("| " + " | ".join(str(x) for x in row(model, a)) + " |", flush=True)


if __name__ == "__main__":
    main()
