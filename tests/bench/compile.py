#!/usr/bin/env python3
"""How long compiling, loading and a first run take, and the memory of a run. Usage: compile.py [--rounds N] [--tenon FILE] [PART...]

    cold    whole `tenon compile`, nothing kept from before
    warm    the same again, with the object of the first: LLVM is not loaded
    chain   100 000 and 1 000 000 ops through all graph passes, lowering, liveness and greedy (no code, no artefact)
    first   whole `tenon run`: process, loading, memory, one warm-up and one counted run; and its peak memory. Below it what that
            command says of itself: loading (files, memory, threads) and the first run

Least of the rounds. Models from $TENON_SHARED (default ../shared) as in models.py.
"""
import argparse, json, os, pathlib, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import models

WHICH = ["mobilenetv2", "resnet50_rand", "minilm_l6_seq128", "mnist_cntk"]


def wall(command, env=None):
    """(seconds, peak MiB) of a process."""
    begun = time.perf_counter()
    p = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    error = p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    if status != 0:
        sys.exit(error.decode())
    return time.perf_counter() - begun, usage.ru_maxrss / 1024


def least(rounds, run):
    return tuple(min(column) for column in zip(*(run() for _ in range(rounds))))


def first_run(command):
    """(seconds of loading, of the first run), as the command tells them."""
    r = json.loads(subprocess.run([str(c) for c in command], capture_output=True, check=True).stdout)
    return r["load_ms"] / 1e3, r["first_run_ms"] / 1e3


def chain(folder, n):
    path = folder / f"chain{n}.tir"
    body = "".join(f"  %{i + 1} = {'relu' if i % 2 else 'neg'}(%{i}) : f32[4]\n" for i in range(n))
    path.write_text(f'tenon 1.0\nmodule "chain"\nfunc @main(%0 "x": f32[4]) -> ("y") {{\n{body}  return %{n}\n}}\n')
    return path


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tenon", default=models.TENON)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("parts", nargs="*", default=["cold", "warm", "chain", "first"])
    a = p.parse_args()
    if unknown := set(a.parts) - {"cold", "warm", "chain", "first"}:
        p.error(f"no part is called {', '.join(sorted(unknown))}; parts are cold, warm, chain, first")
    with tempfile.TemporaryDirectory() as t:
        work = pathlib.Path(t)
        env = dict(os.environ, TENON_CACHE_DIR=str(work / "cache"))
        print(f"{'':24}{'seconds':>9}{'peak MiB':>10}")
        for name, model in models.paths(WHICH, work).items():
            shapes, fills = (models.options(models.MODELS[name][1], option) for option in ("--shape", "--fill"))
            out = work / name
            compile_it = [a.tenon, "compile", model, *shapes, "-o", out]
            rows = {"cold": lambda: wall([*compile_it, "--no-cache"], env), "warm": lambda: wall(compile_it, env),
                    "first": lambda: wall([a.tenon, "run", out, *fills], env)}
            wall(compile_it, env)
            for part in rows:
                if part in a.parts:
                    s, mib = least(a.rounds, rows[part])
                    print(f"{name + ' ' + part:24}{s:9.3f}{mib:10.0f}", flush=True)
            if "first" in a.parts:
                load, run = least(a.rounds, lambda: first_run([a.tenon, "run", out, *fills, "--json"]))
                print(f"{'  load':24}{load:9.4f}\n{'  first run':24}{run:9.4f}", flush=True)
        for n in (100_000, 1_000_000) if "chain" in a.parts else ():
            command = [a.tenon, "compile", chain(work, n), "--set", "fuse-ops.max_nodes=1", "--set", "plan.with=greedy", "--stop-after", "plan"]
            s, mib = least(a.rounds, lambda: wall(command, env))
            print(f"{f'chain of {n} ops':24}{s:9.3f}{mib:10.0f}", flush=True)


main()
