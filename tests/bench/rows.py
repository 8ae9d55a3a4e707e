#!/usr/bin/env python3
"""Time per op of softmax, layer norm and GELU beside ONNX Runtime, one thread, interleaved in one run. Usage: rows.py [--rounds N] [--set STEP.KEY=VALUE]... [CASE...]

A model is a chain of 32 equal ops, so that what a run costs beside its kernels counts little; they are not fused with each other. Needs TENON_SHARED (default ../shared) for the peer's driver, and ORT_DIR (a folder with onnxruntime-node) for the peer;
without the latter only Tenon's own figures are printed. Microseconds, the least of all rounds; ratio: the peer's time over ours.
"""
import argparse, json, os, pathlib, subprocess, sys, tempfile
import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TENON_SHARED", ROOT.parent / "shared"))
TENON = ROOT / "build/release/bin/tenon"
LENGTH = 32


class Model:
    def __init__(self):
        self.nodes, self.constants = [], []

    def add(self, op, *inputs, **attrs):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attrs))
        return name

    def constant(self, value):
        name = f"c_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name


def softmax(m, x, shape):
    return m.add("Softmax", x, axis=-1)


def masked_softmax(m, x, shape):
    return m.add("Softmax", m.add("Add", x, m.constant(np.zeros((1, 1, shape[-1])))), axis=-1)


def layer_norm(m, x, shape):
    scale, shift = (m.constant(np.full(shape[-1], v)) for v in (1.0, 0.1))
    return m.add("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-5)


def layer_norm_written_out(m, x, shape):
    centred = m.add("Sub", x, m.add("ReduceMean", x, axes=[-1], keepdims=1))
    variance = m.add("ReduceMean", m.add("Pow", centred, m.constant(2.0)), axes=[-1], keepdims=1)
    normal = m.add("Div", centred, m.add("Sqrt", m.add("Add", variance, m.constant(1e-5))))
    return m.add("Add", m.add("Mul", normal, m.constant(np.ones(shape[-1]))), m.constant(np.full(shape[-1], 0.1)))


def gelu(m, x, shape):
    cdf = m.add("Add", m.add("Erf", m.add("Div", x, m.constant(2**0.5))), m.constant(1.0))
    return m.add("Mul", m.add("Mul", x, cdf), m.constant(0.5))


CASES = {
    "softmax 1536x128": (softmax, (1536, 128)),
    "softmax 12x128x128 masked": (masked_softmax, (12, 128, 128)),
    "softmax 8x32768": (softmax, (8, 32768)),
    "softmax 64x1000": (softmax, (64, 1000)),
    "layer norm 128x384": (layer_norm, (128, 384)),
    "layer norm 128x384 exported": (layer_norm_written_out, (128, 384)),
    "layer norm 128x1024": (layer_norm, (128, 1024)),
    "gelu 128x1536": (gelu, (128, 1536)),
}


def make(case, path):
    op, shape = CASES[case]
    m, value = Model(), "x"
    for _ in range(LENGTH):
        value = op(m, value, shape)
    tensor = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(m.nodes, "chain", [tensor("x")], [tensor(value)], m.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def ours(artefact):
    r = subprocess.run([TENON, "run", artefact, "--json", "--repeat", "200", "--threads", "1"], capture_output=True, text=True, check=True)
    return json.loads(r.stdout)["latency_ms"]["min"]


def peer(model):
    driver = SHARED / "peer/ort_bench.mjs"
    r = subprocess.run(["node", driver, "--model", model, "--threads", "1", "--max-time", "2"], capture_output=True, text=True, check=True)
    run = json.loads(r.stdout)["runs"][0]
    if "error" in run:
        sys.exit(f"ONNX Runtime: {run['error']}")
    return run["min_ms"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--set", action="append", default=[], help="passed on to `tenon compile`")
    p.add_argument("cases", nargs="*", default=list(CASES))
    a = p.parse_args()
    print(f"{'op':32}{'tenon us':>10}{'peer us':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory(prefix="tenon-") as work:
        for case in a.cases:
            model, artefact = pathlib.Path(work) / "chain.onnx", pathlib.Path(work) / case.replace(" ", "_")
            make(case, model)
            apart = ["fuse-ops.max_nodes=1"] if case.startswith("gelu") else []  # maps would chain
            settings = [x for s in [*apart, *a.set] for x in ("--set", s)]
            subprocess.run([TENON, "compile", model, *settings, "-o", artefact], check=True, capture_output=True)
            t, o = [], []
            for _ in range(a.rounds):
                t.append(ours(artefact))
                if "ORT_DIR" in os.environ:
                    o.append(peer(model))
            line = f"{case:32}{min(t) / LENGTH * 1e3:10.1f}"
            print(line + (f"{min(o) / LENGTH * 1e3:10.1f}{min(o) / min(t):8.2f}" if o else ""), flush=True)


if __name__ == "__main__":
    main()
