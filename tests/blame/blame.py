#!/usr/bin/env python3
"""`tenon plan blame` finds what was planted. Usage: blame.py <tenon> <plant plugin> <work folder> <check>

small      a small network, a fault of each kind; what is whole, and what cannot be blamed
mobilenet  six faults in MobileNetV2, each found in under a minute; needs TENON_SHARED (default ../shared)
"""
import json, os, pathlib, subprocess, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from artefact import Artefact

TENON, PLANT, WORK, CHECK = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve(), sys.argv[4]
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TENON_SHARED", ROOT.parent / "shared"))
SECONDS = 60
STEPS = (ROOT / "pipelines/graph-cpu.yaml").read_text()
bad = []

# Two branches of a residual block, each through a view; the second lives across the other's two steps.
VIEWS = """tenon 1.0
module "views"
func @main(%0 "x": f32[1, 8, 32, 32], %1 "w": f32[8, 8, 1, 1]) -> ("y") {
  %2 "early" = relu(%0) : f32[1, 8, 32, 32]
  %3 "first" = conv2d(%2, %1) {dilations = [1, 1], groups = 1, pads = [0, 0, 0, 0], strides = [1, 1]} : f32[1, 8, 32, 32]
  %4 "second" = conv2d(%3, %1) {dilations = [1, 1], groups = 1, pads = [0, 0, 0, 0], strides = [1, 1]} : f32[1, 8, 32, 32]
  %5 "flat_early" = reshape(%2) {shape = [8, 1024]} : f32[8, 1024]
  %6 "flat_second" = reshape(%4) {shape = [8, 1024]} : f32[8, 1024]
  %7 "sum" = add(%5, %6) : f32[8, 1024]
  %8 "y" = softmax(%7) {axis = 1} : f32[8, 1024]
  return %8
}
"""


# A transposition reads what a result in its operand's place would have overwritten.
TURNED = """tenon 1.0
module "turned"
func @main(%0 "x": f32[96, 96]) -> ("y") {
  %1 "a" = softmax(%0) {axis = 1} : f32[96, 96]
  %2 "b" = transpose(%1) {perm = [1, 0]} : f32[96, 96]
  %3 "y" = softmax(%2) {axis = 1} : f32[96, 96]
  return %3
}
"""

BRANCH = """tenon 1.0
module "branch"
func @main(%0 "c": bool[], %1 "x": f32[32, 32]) -> ("y") {
  %2 "a" = softmax(%1) {axis = 1} : f32[32, 32]
  %3 "b" = if(%0) : f32[32, 32] region () {
    %4 "t" = transpose(%2) {perm = [1, 0]} : f32[32, 32]
    %5 "u" = softmax(%4) {axis = 0} : f32[32, 32]
    return %5
  } region () {
    %6 "e" = softmax(%2) {axis = 0} : f32[32, 32]
    return %6
  }
  %7 "y" = add(%3, %2) : f32[32, 32]
  return %7
}
"""

# What is carried, an outer value that the body reads in every iteration, an inner loop, and state.
LOOP = """tenon 1.0
module "loop"
func @main(%0 "n": i64[], %1 "x": f32[32, 32], %2 "h": f32[32, 32]) -> ("y", "h_next") {
  %3 "outer" = softmax(%1) {axis = 1} : f32[32, 32]
  %4 "carried" = loop(%0, %1) : f32[32, 32] region (%5 "i": i64[], %6 "c": f32[32, 32]) {
    %7 "t" = transpose(%6) {perm = [1, 0]} : f32[32, 32]
    %8 "inner" = loop(%0, %7) : f32[32, 32] region (%9 "j": i64[], %10 "d": f32[32, 32]) {
      %11 "s" = softmax(%10) {axis = 0} : f32[32, 32]
      %12 "u" = add(%11, %3) : f32[32, 32]
      return %12
    }
    %13 "v" = transpose(%8) {perm = [1, 0]} : f32[32, 32]
    %14 "made" = softmax(%13) {axis = 0} : f32[32, 32]
    return %14
  }
  %15 "y" = add(%4, %2) : f32[32, 32]
  %16 "h_next" = softmax(%15) {axis = 0} : f32[32, 32]
  return %15, %16
}
"""


def run(*args, timeout=300):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=timeout)


def compiled(model, out, *args):
    r = run(TENON, "--plugin-path", PLANT, "compile", model, "-o", out, *args)
    if r.returncode:
        raise SystemExit(f"{out}: {r.stderr}")
    return Artefact(out)


def planted(model, out, fault, kernel, *args):
    """Compiled with a wrong fact about a kernel, which everything after `lower` believes."""
    step = f"  - plant.fact: {{fault: {fault}, kernel: {kernel}}}\n"
    path = WORK / f"{fault}.yaml"
    path.write_text(STEPS.replace("  - plan:", step + "  - plan:"))
    return compiled(model, out, "-p", path, *args)


def blame(artefact, *args):
    start = time.monotonic()
    r = run(TENON, "plan", "blame", artefact.folder, "--json", *args, timeout=SECONDS)
    try:
        answer = json.loads(r.stdout)
    except ValueError:
        answer = {}
    return r, answer, time.monotonic() - start


def found(what, artefact, code, kind, step, values, fact, *args):
    """The fault has that code and kind, names the step, the values (the first ones, in order) and words of the fact."""
    r, answer, seconds = blame(artefact, *args)
    f = answer.get("finding", {})
    names = [v["value"] for v in f.get("values", [])]
    ok = (r.returncode == 1 and f.get("code") == f"TN{code}" and f.get("kind") == kind and f["step"]["name"] == step
          and names[:len(values)] == values and all(w in f["fact"] for w in fact) and f["fix"])
    if not ok:
        bad.append(f"{what}: exit {r.returncode}, wanted TN{code} {kind} in {step} of {values}, {fact}: {r.stdout} {r.stderr}")
    print(f"{what}: {seconds:.2f} s, {answer.get('trials')} trials: {f.get('what')}")
    text = run(TENON, "plan", "blame", artefact.folder, *args, timeout=SECONDS)
    if text.returncode != 1 or f"error[TN{code}]" not in text.stderr or "the fact: " not in text.stderr and fact:
        bad.append(f"{what}: as text: {text.stdout}{text.stderr}")


def nothing(what, artefact, *args):
    r, answer, seconds = blame(artefact, *args)
    if r.returncode or answer.get("found") is not False:
        bad.append(f"{what}: exit {r.returncode}: {r.stdout}{r.stderr}")
    print(f"{what}: {seconds:.2f} s, nothing found")


def forget(artefact, value, last, planner="auto"):
    """The request as if the last use of a value's token, through a view perhaps, had been missed: it ends with step `last`."""
    token = next(t for t in artefact.request["tokens"] for v in t["values"] if v["name"] == value)
    token["live"][1] = last + 1
    for v in token["values"]:
        v["live"] = [min(v["live"][0], last), min(v["live"][1], last + 1)]
    token.pop("parts", None)
    artefact.request["joins"] = [j for j in artefact.request["joins"] if token["name"] not in (j["a"], j["b"])]
    artefact.plan_again(TENON, planner)
    return token["name"]


def put_into_output(artefact, value):
    """The program keeps a value of its own in the memory of the caller's first output."""
    for step in artefact.steps():
        for arg, v in zip(step["args"], step["values"]):
            if v == value:
                arg[:3] = ["output", 0, 0]
    artefact.seal()


def small():
    model = ROOT / "sdk/examples/small_cnn.tir"
    whole = compiled(model, WORK / "whole")
    nothing("whole", whole)
    nothing("whole, made data", whole, "--fill", "image=randint:0:9", "--seed", "7")
    (WORK / "turned.tir").write_text(TURNED)
    a = planted(WORK / "turned.tir", WORK / "inplace", "inplace", "transpose")
    found("in place", a, 4524, "in-place", "b", ["a", "b"], ["argument 1", "argument 0"])
    a = whole.copy(WORK / "clears")
    a.stand_in(a.step("relu3"), 3, "CLEARS")
    found("in place, cleared first", a, 4524, "in-place", "relu3", ["relu1", "relu3"], ["argument 3", "argument 2"])
    a = planted(model, WORK / "scratch", "scratch", whole.kernel(whole.step("relu1"))["symbol"])
    found("short scratch", a, 4521, "scratch", "relu1", ["relu1.worker"], ["bytes", "worker scratch"])
    a = planted(model, WORK / "overrun", "overrun", "max_pool")
    found("past its end", a, 4521, "overrun", "pool", ["pool"], ["8192 bytes"])
    (WORK / "branch.tir").write_text(BRANCH)
    branch = compiled(WORK / "branch.tir", WORK / "branch")
    for arm in (0, 1):
        nothing(f"arm {arm}", branch, "--fill", f"c=const:{arm}")
    (WORK / "loop.tir").write_text(LOOP)
    (WORK / "loop.yaml").write_text(STEPS + "state: [{input: h, output: h_next}]\n")
    loop = compiled(WORK / "loop.tir", WORK / "loop", "-p", WORK / "loop.yaml")
    for n in (0, 1, 3):
        nothing(f"{n} iterations", loop, "--fill", f"n=const:{n}", "--fill", "h=uniform:0:1")
    a = loop.copy(WORK / "back_edge")
    forget(a, "outer", a.request["steps"].index("loop inner.next"))
    found("last use, in the next iteration", a, 4525, "last-use", "u", ["outer", "v"], ["outer"], "--fill", "n=const:2")
    stand_ins(whole)
    (WORK / "views.tir").write_text(VIEWS)
    views = compiled(WORK / "views.tir", WORK / "views")
    nothing("views", views)
    a = views.copy(WORK / "last_use")
    name = forget(a, "flat_early", a.request["steps"].index("first"))
    found("last use through a view", a, 4525, "last-use", "sum", ["flat_early", "second"], ["flat_early", name])
    a = views.copy(WORK / "latent")
    forget(a, "flat_early", a.request["steps"].index("first"), "naive")
    found("last use, nothing put there", a, 4525, "last-use", "sum", ["flat_early"], ["flat_early", name])
    a = views.copy(WORK / "collision")
    place = {s["token"]: s for s in a.plan["slots"]}
    place["first"]["offset"] = place["early"]["offset"]
    a.seal()
    cannot("a plan that breaks a rule", a, "TN4006", "early", "first")


def stand_ins(whole):
    def with_fault(step, arg, fault):
        a = whole.copy(WORK / fault.lower())
        a.stand_in(a.step(step), arg, fault)
        return a

    found("alignment", with_fault("relu2", 1, "ALIGN"), 4526, "alignment", "relu2", ["depthwise.weight"], ["alignment 4", "alignment 512"])
    found("alignment, trapping", with_fault("relu2", 1, "TRAP"), 4526, "alignment", "relu2", ["depthwise.weight"], ["alignment 128"])
    found("caller's input", with_fault("relu1", 0, "WRITES"), 4521, "caller", "relu1", ["image"], ["the caller's"])
    found("operand", with_fault("relu2", 0, "WRITES"), 4521, "operand", "relu2", ["relu1"], ["keeps its bytes"])
    found("past its end, into another", with_fault("mean", 1, "PAST"), 4521, "overrun", "mean", ["mean"], ["32 bytes"])
    found("unwritten scratch", with_fault("relu1", 0, "UNWRITTEN"), 4522, "unwritten", "relu1", ["relu1.worker"], ["no step has written"])
    found("behind the end", with_fault("mean", 0, "BEHIND"), 4521, "overread", "mean", ["pool"], ["8192 bytes"])
    found("behind the end, a little", with_fault("dense", 0, "BEHIND"), 4522, "overread", "dense", ["mean"], ["arguments only"])
    found("crash", with_fault("pool", 0, "CRASH"), 4523, "kernel", "pool", [], [])
    found("code", with_fault("pool", 0, "CODE"), 4523, "kernel", "pool", [], [])
    a = whole.copy(WORK / "output")
    put_into_output(a, a.step("mean")["values"][-1])
    found("caller's output", a, 4527, "caller", "mean", ["mean", "scores"], ["the plan has `mean`"])
    found("two in one page", with_fault("dense", 0, "PAGE"), 4528, "sharing", "dense", ["mean", "dense"], [])
    found("by address", with_fault("dense", 0, "ADDRESS"), 4523, "unsteady", "dense", [], [])
    old = whole.copy(WORK / "old")
    for s in old.steps():
        del s["values"]
    old.seal()
    cannot("an artefact that does not name its values", old, "TN4520", "compile the model again")


def cannot(what, artefact, code, *words):
    r = run(TENON, "plan", "blame", artefact.folder)
    if r.returncode != 2 or f"error[{code}]" not in r.stderr or not all(w in r.stderr for w in words):
        bad.append(f"{what}: exit {r.returncode}: {r.stderr}")


def with_views(path, out):
    """MobileNetV2 with both operands of its first residual sum flattened: two views, one of which lives for three steps."""
    import onnx
    from onnx import helper, numpy_helper
    import numpy as np
    m = onnx.load(path)
    at = next(i for i, n in enumerate(m.graph.node) if n.op_type == "Add")
    add = m.graph.node[at]
    names = [n + "_flat" for n in add.input]
    nodes = [helper.make_node("Reshape", [n, "flat_shape"], [f]) for n, f in zip(add.input, names)]
    back = helper.make_node("Reshape", [add.output[0] + "_flat", "block_shape"], [add.output[0]])
    channels = {i.name: list(i.dims) for i in m.graph.initializer}
    producer = {o: n for n in m.graph.node for o in n.output}[add.input[1]]
    c = channels[producer.input[1]][0]
    side = 56
    m.graph.initializer.append(numpy_helper.from_array(np.array([c, side * side]), "flat_shape"))
    m.graph.initializer.append(numpy_helper.from_array(np.array([1, c, side, side]), "block_shape"))
    flat = helper.make_node("Add", names, [add.output[0] + "_flat"])
    before, after = list(m.graph.node[:at]), list(m.graph.node[at + 1:])
    del m.graph.node[:]
    m.graph.node.extend([*before, *nodes, flat, back, *after])
    onnx.save(m, out)
    return names


def mobilenet():
    if not SHARED.is_dir():
        return
    gen = WORK / "gen"
    model = gen / "mobilenetv2.onnx"
    if not model.exists():
        gen.mkdir(parents=True)
        subprocess.run([sys.executable, SHARED / "peer/gen_models.py", gen], check=True, capture_output=True)
    picture = SHARED / "models/expected/mobilenetv2/in_0.npy"
    shape = ("--shape", "input=1x3x224x224")
    whole = compiled(model, WORK / "whole", *shape)
    nothing("whole", whole, "--input", picture)
    symbol = lambda step: whole.kernel(whole.step(step))["symbol"]

    def stand_in(step, arg, fault):
        a = whole.copy(WORK / fault.lower())
        a.stand_in(a.step(step), arg, fault)
        return a

    def check(what, a, *expected):
        found(what, a, *expected, "--input", picture)

    check("in place", stand_in("Add_51", 4, "CLEARS"), 4524, "in-place", "Add_51", ["Conv_33", "Add_51"], ["argument 4", "argument 3"])
    check("short scratch", planted(model, WORK / "scratch", "scratch", symbol("Clip_7"), *shape), 4521, "scratch", "Clip_7",
          ["Clip_7.worker"], ["worker scratch"])
    names = with_views(model, WORK / "views.onnx")
    a = compiled(WORK / "views.onnx", WORK / "last_use", *shape)
    token = forget(a, names[0], a.request["steps"].index("Clip_39"))
    check("last use through a view", a, 4525, "last-use", "Add_51_flat", [names[0]], [names[0], token])
    off = next(s for s in whole.steps() if s["args"][2][2] % 512 and "Add" not in s["name"])
    bias = whole.value(off["values"][2])
    check("alignment", stand_in(off["name"], 2, "ALIGN"), 4526, "alignment", off["name"], [bias], ["alignment 512"])
    check("past its end", planted(model, WORK / "overrun", "overrun", symbol("GlobalAveragePool_301"), *shape), 4521, "overrun",
          "GlobalAveragePool_301", ["GlobalAveragePool_301"], ["5120 bytes"])
    check("caller's input", stand_in("Clip_7", 0, "WRITES"), 4521, "caller", "Clip_7", ["input"], ["the caller's"])
WORK.mkdir(parents=True, exist_ok=True)
{"small": small, "mobilenet": mobilenet}[CHECK]()
print("\n".join(bad) or f"blame {CHECK}: ok")
sys.exit(bool(bad))
