#!/usr/bin/env python3
"""The node tests of ONNX's backend suite, through the command line. Usage: onnx_ops.py <tenon> <work folder> [NAME...]

Every case of the suite that python3-onnx brings is compiled, run and compared with the numbers that the suite gives, or
refused with a message that names the node; which cases are refused stands in REFUSED, with the reason. With names, only those
cases, and what Tenon says of them.
"""
import collections, concurrent.futures, fnmatch, json, pathlib, shutil, subprocess, sys, warnings

import numpy as np
from onnx import numpy_helper

for name, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
    if name not in np.__dict__:  # the suite of onnx 1.12 uses names that NumPy has dropped
        setattr(np, name, kind)
from onnx.backend.test.case.node import collect_testcases

TENON, WORK, ONLY = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]

# Inputs whose values decide shapes: the model gets them as initializers.
STATIC = {
    "Reshape": [1], "Expand": [1], "Tile": [1], "Slice": [1, 2, 3, 4], "Pad": [1, 2, 3], "Resize": [1, 2, 3], "Upsample": [1],
    "Squeeze": [1], "Unsqueeze": [1], "Split": [1], "ConstantOfShape": [0], "TopK": [1], "OneHot": [1], "CumSum": [1],
    "Range": [0, 1, 2], "Dropout": [1, 2], "Trilu": [1], "ReduceSum": [1], "LSTM": [4],
    "BlackmanWindow": [0], "HammingWindow": [0], "HannWindow": [0],
}

# Cases that are refused, by pattern, and why.
REFUSED = {
    "test_*STRING*": "strings",
    "test_strnormalizer_*": "strings",
    "test_tfidfvectorizer_*": "strings or counts of words",
    "test_*_sequence*": "sequences",
    "test_sequence_*": "sequences",
    "test_*_seq": "sequences",
    "test_*_seq_none": "sequences",
    "test_*_opt": "optional values",
    "test_optional_*": "optional values",
    "test_loop1?*": "loops",
    "test_scan*": "loops",
    "test_range_*_expanded": "loops",
    "test_compress_*": "shapes that depend on data",
    "test_nonzero_*": "shapes that depend on data",
    "test_unique_*": "shapes that depend on data",
    "test_nonmaxsuppression_*": "shapes that depend on data",
    "test_top_k*": "sorting",
    "test_ada*": "training",
    "test_*momentum*": "training",
    "test_training_dropout_[dm]*": "training",
    "test_training_dropout": "training",
    "test_batchnorm_*_training_mode": "training",
    "test_nllloss_*[!d]": "training",
    "test_sce_*": "training",
    "test_bernoulli*": "random numbers",
    "test_maxpool_with_argmax_*": "indices of maxima",
    "test_maxunpool_*": "indices of maxima",
    "test_*scatter*": "scattering",
    "test_einsum_*": "einsum",
    "test_gridsample*": "sampling at points that data give",
    "test_roialign_*": "sampling at points that data give",
    "test_reversesequence_*": "sequences of different lengths",
    "test_det_*": "linear algebra",
    "test_dft*": "signals",
    "test_stft*": "signals",
    "test_melweightmatrix": "signals",
    "test_blackmanwindo*[!d]": "signals",
    "test_hammingwindo*[!d]": "signals",
    "test_hannwindo*[!d]": "signals",
    "test_reduce_log_sum_exp_*": "exponentials in f64",
    "test_mod_mixed_sign_float64": "remainders in f64",
}

# Cases that no number of Tenon's could pass, and why.
LEFT_OUT = {
    "test_*BFLOAT16*": "NumPy has no bfloat16: the suite's arrays hold its bits",
    "test_resize_downsample_scales_*_align_corners": "the suite divides by an extent that is not rounded; the text of the standard and "
                                                     "ONNX Runtime divide by the extent of the result",
}


def is_tensor(v):
    return isinstance(v, np.ndarray) and v.dtype.kind in "fiub"


def write_case(case, folder):
    """The model with its static inputs as initializers; inputs and outputs beside it."""
    model = type(case.model)()
    model.CopyFrom(case.model)
    for o in model.opset_import:
        if o.domain == "" and o.version < 7:  # cases carry the opset of the op's last change
            o.version = 7
    graph = model.graph
    inputs, outputs = case.data_sets[0]
    given = list(zip([i.name for i in graph.input], inputs))
    named = case.static
    for name, value in given:
        if name in named:
            graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    kept = [i for i in graph.input if i.name not in named]
    del graph.input[:]
    graph.input.extend(kept)
    rows = {"inputs": [(n, v) for n, v in given if n not in named], "outputs": list(zip([o.name for o in graph.output], outputs))}
    folder.mkdir(parents=True)
    io = {}
    for kind, items in rows.items():
        io[kind] = []
        for k, (name, value) in enumerate(items):
            file = f"{kind[:-1]}_{k}.npy"
            np.save(folder / file, np.ascontiguousarray(value).reshape(np.shape(value)))
            io[kind].append({"name": name, "file": file})
    (folder / "io.json").write_text(json.dumps(io))
    (folder / "model.onnx").write_bytes(model.SerializeToString())


def run(case):
    """(verdict, text): ok, refused, or what is wrong."""
    inputs, outputs = case.data_sets[0]
    if not all(is_tensor(np.asarray(v)) if not isinstance(v, (list, tuple)) and v is not None else False for v in [*inputs, *outputs]):
        return "refused", "not tensors of numbers"
    folder = WORK / case.name
    shutil.rmtree(folder, ignore_errors=True)
    write_case(case, folder)
    r = subprocess.run([TENON, "--error-format=json", "compare", folder / "model.onnx", "--io", folder, "--compile-threads", "1",
                        "--rtol", str(case.rtol), "--atol", str(case.atol)], capture_output=True, text=True, timeout=120)
    shutil.rmtree(folder)
    if r.returncode == 0:
        return "ok", ""
    if r.returncode == 1 and not r.stdout:
        try:
            messages = json.loads(r.stderr)
        except ValueError:
            return "wrong", r.stderr
        if messages and all(m["code"].startswith("TN70") or m["code"] == "TN6205" for m in messages):
            return "refused", messages[0]["what"]
    return "wrong", f"exit {r.returncode}: {r.stdout}{r.stderr}"


def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    static, unique = {}, {}
    for case in found:
        if case.name.endswith("_expanded"):
            case.static = static.get(case.name[:-len("_expanded")], [])
        else:
            node = case.model.graph.node[0]
            case.static = [node.input[k] for k in STATIC.get(node.op_type, []) if k < len(node.input) and node.input[k]]
            static[case.name] = case.static
        unique[case.name] = case  # a name given twice is one case, as in the suite's folders
    return list(unique.values())


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    matches = lambda name, patterns: any(fnmatch.fnmatchcase(name, p) for p in patterns)
    chosen = [c for c in cases() if (matches(c.name, ONLY) if ONLY else not matches(c.name, LEFT_OUT))]
    bad, count = [], collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for case, (verdict, text) in zip(chosen, pool.map(run, chosen)):
            expected = "refused" if matches(case.name, REFUSED) else "ok"
            count[verdict] += 1
            if ONLY:
                print(case.name, verdict, text)
            if verdict != expected:
                bad.append(f"{case.name}: wanted {expected}, got {verdict} {text[:400]}")
    print("\n".join(bad) or f"ONNX node tests: {count['ok']} agree, {count['refused']} refused, as listed")
    sys.exit(bool(bad))


main()
