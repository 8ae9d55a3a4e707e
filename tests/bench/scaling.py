#!/usr/bin/env python3
"""What two threads gain over one, in models and in a loop of multiply-adds that knows no memory. Usage: scaling.py [--rounds N] [MODEL...]

Interleaved; the best of the rounds of each. `share` is the model's gain over that of the loop: 1 when the machine gives no more.
Build tenon-fma-bench first. Models from $TENON_SHARED (default ../shared) as in models.py.
"""
import argparse, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import models

FMA = models.ROOT / "build/release/bin/tenon-fma-bench"


def rate(threads):
    return float(subprocess.run([FMA, str(threads), "100"], capture_output=True, text=True, check=True).stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("models", nargs="*", default=["resnet50_rand", "minilm_l6_seq128"])
    a = p.parse_args()
    print(f"{'model':24}{'1 thread':>10}{'2 threads':>11}{'gain':>7}{'FMA loop':>10}{'share':>7}")
    with tempfile.TemporaryDirectory(prefix="tenon-") as work:
        for name, model in models.paths(a.models, work).items():
            args = models.MODELS[name][1]
            artefact = pathlib.Path(work) / name
            subprocess.run([models.TENON, "compile", model, *models.options(args, "--shape"), "-o", artefact], check=True, capture_output=True)
            ms, gflops = {1: [], 2: []}, {1: [], 2: []}
            for _ in range(a.rounds):
                for t in (1, 2):
                    ms[t].append(models.ours(artefact, models.options(args, "--fill"), t)["min"])
                    gflops[t].append(rate(t))
            gain, most = min(ms[1]) / min(ms[2]), max(gflops[2]) / max(gflops[1])
            print(f"{name:24}{min(ms[1]):10.3f}{min(ms[2]):11.3f}{gain:7.2f}{most:10.2f}{gain / most:7.2f}", flush=True)


main()
