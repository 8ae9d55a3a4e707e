#!/usr/bin/env python3
"""Real models and hostile ones, through the command line. Usage: models.py <tenon> <work folder> <check>

agree        every model of the list gives ONNX Runtime's outputs; bitwise equal between planners and thread counts;
             greedy really shares. Needs TENON_SHARED (default ../shared); without it the small network of the repository
             is checked against the evaluator instead.
same         identical artefact bytes: 20 compiles, two folders, two locales, 1 and 2 compile threads, unused plugins
malformed    ONNX files cut short, with flipped bytes, lying sizes, escaping paths, cycles, unknown ops: a named error,
             no crash, no output folder
start-up     `--version`, `validate`, `plugin list` do not load LLVM
"""
import hashlib, json, os, pathlib, random, re, shutil, subprocess, sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from foundation import MODELS

TENON, WORK, CHECK = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ["TENON_CACHE_DIR"] = ""  # every object is compiled, unless a test says otherwise
SHARED = pathlib.Path(os.environ.get("TENON_SHARED", ROOT.parent / "shared"))
SMALL = ROOT / "sdk/examples/small_cnn.tir"
bad = []


def tenon(*args, **kw):
    return subprocess.run([TENON, *map(str, args)], capture_output=True, text=True, timeout=300, **kw)


def expect(ok, what):
    if not ok:
        bad.append(what)


def model_path(file):
    if not file.startswith("gen/"):
        return SHARED / "models" / file
    folder = WORK / "gen"
    path = folder / file[4:]
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, SHARED / "peer/gen_models.py", folder], check=True, capture_output=True)
    return path


def outputs(artefact, io_dir, io, threads):
    out = WORK / "outputs"
    shutil.rmtree(out, ignore_errors=True)
    args = [a for i in io["inputs"] for a in ("--input", f"{i['name']}={io_dir / i['file']}")]
    r = tenon("run", artefact, *args, "--output", out, "--threads", threads, "--poison", "--json")
    if r.returncode:
        return r.stderr
    assert {"min", "median"} <= set(json.loads(r.stdout)["latency_ms"])
    return [(out / f"out_{k}.npy").read_bytes() for k in range(len(io["outputs"]))]


def agree():
    if not SHARED.is_dir():
        r = tenon("compile", SMALL, "-o", WORK / "small", "--check")
        expect(r.returncode == 0 and ": ok" in r.stdout, f"small network: {r.stdout} {r.stderr}")
        return
    for name, file, rel_l2, *fixed in MODELS:
        path, io_dir = model_path(file), SHARED / "models/expected" / name
        io = json.loads((io_dir / "io.json").read_text())
        fix = [a for f in fixed for a in ("--set", f"import.fix=[{','.join(f'{k}={v}' for k, v in f.items())}]")]
        io["inputs"] = [i for i in io["inputs"] if not fixed or i["name"] not in fixed[0]]
        shapes = fix + [a for i in io["inputs"] for a in ("--shape", f"{i['name']}={'x'.join(map(str, i['dims']))}")]
        seen, used = {}, {}
        for planner in ("naive", "greedy"):
            artefact = WORK / f"{name}-{planner}"
            r = tenon("compile", path, *shapes, "-o", artefact, "--set", f"plan.with={planner}")
            expect(r.returncode == 0, f"{name}: {r.stderr}")
            if r.returncode:
                continue
            plan = json.loads((artefact / "plan.json").read_text())
            used[planner] = sum(p["peak"] for p in plan["pools"])
            for threads in (1, 2):
                seen[planner, threads] = outputs(artefact, io_dir, io, threads)
                expect(isinstance(seen[planner, threads], list), f"{name}: {seen[planner, threads]}")
        expect(len({str(v) for v in seen.values()}) == 1, f"{name}: outputs depend on planner or threads")
        expect(used.get("greedy", 0) < used.get("naive", 0), f"{name}: greedy shares nothing: {used}")
        judge = ["--rel-l2", rel_l2] if rel_l2 else ["--rtol", 1e-3, "--atol", 1e-5]
        for planner, threads in (("naive", 2), ("greedy", 1)):
            r = tenon("compare", path, *fix, "--io", io_dir, "--set", f"plan.with={planner}", "--threads", threads, *judge)
            expect(r.returncode == 0, f"{name}, {planner}: {r.stdout}{r.stderr}")
        print(f"{name}: naive {used.get('naive')} bytes, greedy {used.get('greedy')} bytes")
        for planner in ("naive", "greedy"):
            shutil.rmtree(WORK / f"{name}-{planner}", ignore_errors=True)


def identity(folder):
    h = hashlib.sha256()
    for f in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "provenance.json"):
        h.update(f.relative_to(folder).as_posix().encode() + b"\0" + f.read_bytes())
    return h.hexdigest()


def same():
    model = make_model(WORK / "same.onnx")
    first = None
    for k in range(20):
        env = dict(os.environ, LC_ALL=("C", "C.UTF-8")[k % 2])
        cwd = WORK / f"cwd{k % 2}"
        cwd.mkdir(exist_ok=True)
        out = WORK / f"same{k}"
        plugins = sorted((TENON.parents[1] / "lib/tenon").glob("*/*.so"), reverse=k % 3 == 1) if k % 3 else []
        paths = [a for p in plugins for a in ("--plugin-path", p)]
        r = tenon(*paths, "compile", model, "-o", out, "--compile-threads", 1 + k % 2, cwd=cwd, env=env)
        expect(r.returncode == 0, f"compile {k}: {r.stderr}")
        if r.returncode:
            return
        first = first or identity(out)
        expect(identity(out) == first, f"compile {k} gives other bytes")
        shutil.rmtree(out)


def make_model(path, nodes=None, inits=None, external=None, opset=13):
    rng = np.random.default_rng(7)
    inits = inits or {"w": rng.standard_normal((4, 3, 3, 3)).astype(np.float32), "b": np.zeros(4, np.float32)}
    nodes = nodes or [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], name="conv"),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Softmax", ["r"], ["y"], axis=-1, name="soft"),
    ]
    tensors = [numpy_helper.from_array(v, k) for k, v in inits.items()]
    for t in tensors:
        if external and t.name == external["name"]:
            t.ClearField("raw_data")
            t.data_location = TensorProto.EXTERNAL
            for k in ("location", "offset", "length"):
                if k in external:
                    t.external_data.add(key=k, value=str(external[k]))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    path.write_bytes(model.SerializeToString())
    return path


def refused(path, code, *words):
    out = WORK / "refused"
    r = tenon("--error-format=json", "compile", path, "-o", out)
    expect(r.returncode in (1, 2), f"{path.name}: exit {r.returncode}, {r.stderr[:300]}")
    expect(not out.exists(), f"{path.name}: a partial output folder")
    try:
        messages = json.loads(r.stderr)
    except ValueError:
        return bad.append(f"{path.name}: errors are not JSON: {r.stderr[:300]}")
    expect(any(m["code"] == f"TN{code}" or m["code"] == code for m in messages), f"{path.name}: wanted {code}, got {[m['code'] for m in messages]}")
    text = json.dumps(messages)
    for w in words:
        expect(w in text, f"{path.name}: the message does not say '{w}': {text[:400]}")


def survives(path, whole_road=True):
    """Any answer but a crash; no folder unless it succeeded. `whole_road`: to machine code, else up to the plan."""
    out = WORK / "survived"
    shutil.rmtree(out, ignore_errors=True)
    r = tenon("compile", path, "-o", out, *([] if whole_road else ["--stop-after", "plan"]))
    expect(0 <= r.returncode <= 2, f"{path.name}: exit {r.returncode}: {r.stderr[-300:]}")
    expect(out.exists() == (whole_road and r.returncode == 0), f"{path.name}: a partial output folder")


def malformed():
    whole = make_model(WORK / "whole.onnx").read_bytes()
    for k in range(50):
        path = WORK / "cut.onnx"
        path.write_bytes(whole[: len(whole) * k // 50])
        survives(path)
    rng = random.Random(11)
    flips = int(os.environ.get("TENON_FLIPS", "1000"))
    for k in range(flips):
        data = bytearray(whole)
        for _ in range(1 + k % 3):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path = WORK / "flip.onnx"
        path.write_bytes(data)
        survives(path, whole_road=k % 25 == 0)
    (WORK / "text.onnx").write_text("not a model")
    refused(WORK / "text.onnx", 7002)
    refused(WORK / "absent.onnx", 7001)
    node = helper.make_node
    refused(make_model(WORK / "unknown.onnx", [node("Frobnicate", ["x"], ["a"], name="n1"), node("Wibble", ["a"], ["y"], name="n2")]),
            7020, "n1", "Frobnicate", "n2", "Wibble", "opset 13")
    refused(make_model(WORK / "old.onnx", opset=6), 7003, "opset 6")
    refused(make_model(WORK / "cycle.onnx", [node("Add", ["x", "b2"], ["a"], name="p"), node("Relu", ["a"], ["b2"], name="q"), node("Relu", ["b2"], ["y"], name="r")]),
            7005, "p", "q")
    refused(make_model(WORK / "missing.onnx", [node("Relu", ["nowhere"], ["y"], name="lost")]), 7004, "nowhere")
    refused(make_model(WORK / "twice.onnx", [node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])]), 7004, "two nodes")
    quantised = {"w": np.ones((8, 16), np.int8), "k": np.ones((2, 3, 1, 1), np.int8), "s": np.float32(0.5), "i8": np.int8(1), "u8": np.uint8(1),
                 "along_k": np.ones((1, 1, 1, 8), np.uint8), "columns": np.ones(15, np.int8), "two": np.ones(2, np.float32)}
    quantised = {k: np.asarray(v) for k, v in quantised.items()}
    for k, (op, inputs, *says) in enumerate((
            ("MatMulInteger", ["q", "w", "along_k"], "input 2", "row of input 0"), ("MatMulInteger", ["q", "w", "i8"], "input 2", "type of input 0"),
            ("MatMulInteger", ["q", "w", "", "columns"], "input 3", "column of input 1"), ("MatMulInteger", ["x", "w"], "input 0", "u8 or i8"),
            ("ConvInteger", ["x", "k"], "input 0", "u8 or i8"), ("ConvInteger", ["q", "k", "along_k"], "input 2", "one number"),
            ("QLinearConv", ["q", "s", "u8", "k", "s", "columns", "s", "u8"], "input 5", "output channel"),
            ("QLinearMatMul", ["q", "s", "u8", "w", "s", "i8", "two", "u8"], "input 6", "one number"))):
        nodes = [node("Cast", ["x"], ["q"], to=TensorProto.UINT8), node(op, inputs, ["y"], name="product")]
        refused(make_model(WORK / f"quantised{k}.onnx", nodes, quantised), 7020, "product", *says)
    for name, external in (("escape", {"location": "../../secret.bin"}), ("absolute", {"location": "/etc/passwd"}),
                           ("gone", {"location": "gone.bin"}), ("none", {}), ("short", {"location": "whole.onnx", "offset": 10 ** 9}),
                           ("number", {"location": "whole.onnx", "offset": "x1"}), ("length", {"location": "whole.onnx", "length": 3})):
        refused(make_model(WORK / f"{name}.onnx", external={"name": "w", **external}), 7010, "'w'")
    lie = onnx.load(WORK / "whole.onnx")
    lie.graph.initializer[0].dims[0] = 5
    (WORK / "lie.onnx").write_bytes(lie.SerializeToString())
    refused(WORK / "lie.onnx", 7010, "432", "540")
    lie.graph.initializer[0].dims[0] = 2 ** 62
    (WORK / "huge.onnx").write_bytes(lie.SerializeToString())
    refused(WORK / "huge.onnx", 7010)
    data = np.arange(108, dtype=np.float32)
    (WORK / "beside.bin").write_bytes(b"0123" + data.tobytes())
    foreign = WORK / "foreign"
    foreign.mkdir(exist_ok=True)
    for name in ("program.json", "photo.jpg"):
        (foreign / name).write_text("mine")
    r = tenon("compile", SMALL, "-o", foreign)
    expect(r.returncode == 2 and "photo.jpg" in r.stderr, f"a folder with foreign files: exit {r.returncode}, {r.stderr}")
    expect((foreign / "photo.jpg").read_text() == "mine", "a foreign file was touched")
    big, low = 2 ** 63 - 1, -2 ** 63
    for k, (start, end, step, rows) in enumerate(((0, big, big, 1), (big, low, 1 - 2 ** 63, 1), (1, big, 2, 1), (0, 3, 1, 3))):
        path = make_model(WORK / f"slice{k}.onnx", [node("Slice", ["x", "s", "e", "a", "t"], ["y"])],
                          {"s": np.array([start]), "e": np.array([end]), "a": np.array([1]), "t": np.array([step])})
        r = tenon("compile", path, "-o", WORK / "slice")
        r = tenon("run", WORK / "slice", "--json") if r.returncode == 0 else r
        expect(f"f32[1, {rows}, 8, 8]" in r.stdout, f"slice {start}:{end}:{step}: {r.stdout}{r.stderr}")
    good = make_model(WORK / "external.onnx", external={"name": "w", "location": "beside.bin", "offset": 4, "length": 432})
    r = tenon("compile", good, "-o", WORK / "external", "--check")
    expect(r.returncode == 0, f"external data: {r.stderr}")


def start_up():
    for args in (["--version"], ["validate", "graph-cpu"], ["plugin", "list"]):
        r = subprocess.run([TENON, *args], capture_output=True, text=True, env=dict(os.environ, LD_DEBUG="libs"))
        expect(r.returncode == 0, f"{args}: exit {r.returncode}")
        expect("libtenon.so" in r.stderr, f"{args}: the loader's trace is not there")
        expect("libLLVM" not in r.stderr, f"{args}: loads LLVM")
    env = dict(os.environ, LD_DEBUG="libs", TENON_CACHE_DIR=str(WORK / "cache"))
    shutil.rmtree(WORK / "cache", ignore_errors=True)
    made = []
    for loads in (True, False):  # cold, then from the cache
        r = subprocess.run([TENON, "compile", SMALL, "-o", WORK / "cached"], capture_output=True, text=True, env=env)
        expect(r.returncode == 0 and ("libLLVM" in r.stderr) == loads, f"compile, {'cold' if loads else 'warm'}: exit {r.returncode}, LLVM {'not ' * loads}loaded")
        made.append((WORK / "cached/kernels.so").read_bytes())
    expect(made[0] == made[1], "the cache gives other bytes than the compiler")
    r = subprocess.run([TENON, "compile", SMALL, "-o", WORK / "cached", "--no-cache"], capture_output=True, text=True, env=env)
    expect("libLLVM" in r.stderr and (WORK / "cached/kernels.so").read_bytes() == made[0], "--no-cache compiles anew, to the same")
    for entry in (WORK / "cache").iterdir():
        entry.write_bytes(entry.read_bytes()[:-1])
    r = subprocess.run([TENON, "compile", SMALL, "-o", WORK / "cached"], capture_output=True, text=True, env=env)
    expect(r.returncode == 0 and "libLLVM" in r.stderr and (WORK / "cached/kernels.so").read_bytes() == made[0], "a damaged entry is compiled anew")
    changed = WORK / "changed.tir"  # one kernel of it is new
    changed.write_text(SMALL.read_text().replace("softmax(%22) {axis = 1}", "sigmoid(%22)"))
    for cache in (env["TENON_CACHE_DIR"], ""):
        r = subprocess.run([TENON, "compile", changed, "-o", WORK / "changed", "--timing"], capture_output=True, text=True, env=dict(os.environ, TENON_CACHE_DIR=cache))
        expect(r.returncode == 0, f"changed model: {r.stderr}")
        kernels, kept = (int(re.search(rf"target host.*  {what} (\d+)", r.stdout)[1]) for what in ("kernels", "kernels from the cache"))
        expect(kernels > 1 and kept == (kernels - 1 if cache else 0), f"changed model: {kept} of {kernels} kernels from the cache '{cache}'")
        made.append((WORK / "changed/kernels.so").read_bytes())
    expect(made[2] == made[3] != made[0], "kernels from the cache are linked to other bytes than those compiled")
    shutil.rmtree(WORK / "cache")
    folders = [WORK / f"at-once-{i}" for i in range(4)]
    both = [subprocess.Popen([TENON, "compile", m, "-o", f], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
            for f, m in zip(folders, (SMALL, changed, SMALL, changed))]
    expect([p.wait() for p in both] == [0] * 4, "compilations at once that share a cache: one failed")
    expect([(f / "kernels.so").read_bytes() for f in folders] == [made[0], made[2]] * 2, "compilations at once that share a cache: other bytes")


WORK.mkdir(parents=True, exist_ok=True)
{"agree": agree, "same": same, "malformed": malformed, "start-up": start_up}[CHECK]()
print("\n".join(bad) or f"models {CHECK}: ok")
sys.exit(bool(bad))
