#!/usr/bin/env python3
"""What the command line says to wrong input. Usage: cli.py <tenon> <work folder> <check>

usage     arguments that cannot be read: a code, as text and as JSON, exit 2
files     missing files, folders for files and files for folders; output folders that are links; names with control characters
memory    sizes beyond every memory: a named error with the number of bytes, quickly
onnx      declared types that are not computed, names given twice
outputs   what -o may replace
plugin    what `plugin inspect` tells
plan      plans from files: pools, pins, wrong offsets, corrupt artefacts
artefact  every number of program.json edited: a named error, or the right run
csv       buffers and plans whose rows or figures are wrong; a pipeline without an artefact
profile   where the time goes: a table, JSON, a trace; loading and the first run apart
casts     floats beyond the range of integers: folded, evaluated and compiled give the same
chains    100 000 nodes in a row through every pass and a compile
loops     counts known only at the run: what the compiled loop gives is what it says
state     storage that is kept from run to run: where it stands, what begins it, what does not fit
"""
import json, os, pathlib, re, shutil, subprocess, sys, time, traceback

import numpy as np

TENON, WORK, CHECK = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
os.environ["TENON_CACHE_DIR"] = ""  # every object is compiled
ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = ROOT / "sdk/examples/small_cnn.tir"
bad = []


def tenon(*args, **kw):
    return subprocess.run([TENON, *map(str, args)], capture_output=True, text=True, timeout=900, cwd=WORK, **kw)


def expect(ok, what):
    if not ok:
        bad.append(what)


def refused(args, exit_code, code, *words):
    """The command fails with that exit code and one error of that code, whose text (remedy included) has the words."""
    r = tenon("--error-format=json", *args)
    shown = f"tenon {' '.join(map(str, args))}: exit {r.returncode}, {r.stderr.strip()[:600]}"
    try:
        errors = [d for d in json.loads(r.stderr) if d["severity"] == "error"]
    except ValueError:
        return bad.append(f"{shown}: the errors are no JSON")
    expect(r.returncode == exit_code, f"{shown}: exit {exit_code} was expected")
    expect(code in [d["code"] for d in errors], f"{shown}: TN{code} was expected")
    text = " ".join(d["what"] + " " + d["fix"] for d in errors)
    for w in words:
        expect(w in text, f"{shown}: should say '{w}'")
    expect(all(d["fix"] for d in errors), f"{shown}: an error without a remedy")


def ok(*args):
    r = tenon(*args)
    expect(r.returncode == 0, f"tenon {' '.join(map(str, args))}: exit {r.returncode}, {r.stderr.strip()[:600]}")
    return r


def module(name, body, params='%0 "x": f32[4]', results='"y"'):
    path = WORK / f"{name}.tir"
    path.write_text(f'tenon 1.0\nmodule "{name}"\nfunc @main({params}) -> ({results}) {{\n{body}}}\n')
    return path


def small_artefact(name="small"):
    out = WORK / name
    ok("compile", SMALL, "-o", out)
    return out


def check_usage():
    refused(["complie"], 2, "TN2152", "tenon: there is no verb 'complie'", "did you mean 'compile'?")
    refused(["zzz", "x"], 2, "TN2152", "'zzz'", "verbs: fit, compile, run")
    refused(["plan", "slove", "x.csv"], 2, "TN2152", "tenon plan: there is no verb 'slove'", "solve")
    refused([], 2, "TN2152", "a verb is missing", "verbs: fit")
    refused(["--no-such"], 2, "TN2152")
    refused(["run"], 2, "TN2152", "DIR")
    refused(["run", "x", "--no-such"], 2, "TN2152", "--no-such")
    refused(["run", "x", "--threads", "many"], 2, "TN2152", "--threads")
    refused(["plan"], 2, "TN2152")
    text = tenon("compile", "--no-such")
    expect(text.stderr.startswith("error[TN2152]: tenon compile:"), f"as text: {text.stderr}")
    expect(text.returncode == 2 and not text.stdout, "usage goes to stderr alone")
    expect(tenon("--help").returncode == 0 and tenon("run", "--help").returncode == 0, "help is no error")
    out = small_artefact()
    refused(["run", out, "--repeat", "0"], 2, "TN2152", "--repeat")
    for fill in ("randint:5:5", "uniform:2:1", "uniform:nan:1", "randint:0:1e30", "what:1"):
        refused(["run", out, "--fill", f"image={fill}"], 2, "TN8103", fill)
    refused(["run", out, "--fill", "nobody=const:1"], 2, "TN8104", "image")
    ok("run", out, "--fill", "image=const:1", "--verify")
    bytes_in = module("bytes", "  %1 = identity(%0) : u8[4]\n  return %1\n", '%0 "x": u8[4]')
    ok("compile", bytes_in, "-o", WORK / "bytes")
    refused(["run", WORK / "bytes", "--fill", "x=const:300"], 2, "TN8103", "u8")


def check_files():
    missing, folder, file = WORK / "missing", WORK / "folder", WORK / "file"
    folder.mkdir()
    file.write_text("text")
    out = small_artefact()
    for model in ("missing.onnx", "missing.tir"):
        for verb in (["fit"], ["compile", "-o", WORK / "never"]):
            refused([verb[0], WORK / model, *verb[1:]], 2, "TN7001" if model.endswith("onnx") else "TN2001", "path")
    refused(["compile", folder, "-o", WORK / "never"], 2, "TN7001", "is a folder", "the model inside it")
    refused(["compile", out, "-o", WORK / "never"], 2, "TN7001", "is an artefact", "tenon run")
    refused(["compile", missing, "-o", WORK / "never"], 2, "TN2001", "path")
    refused(["compile", file, "-o", WORK / "never"], 3, "TN1012", "end in .onnx, .tir")
    (WORK / "dir.onnx").mkdir()
    refused(["fit", WORK / "dir.onnx"], 2, "TN7001", "is a folder")
    refused(["run", missing], 2, "TN8001", "folder")
    refused(["run", file], 2, "TN8001", "is a file")
    refused(["run", folder], 2, "TN8001", "program.json")
    ok("compile", SMALL, "-p", "aot-c", "-o", WORK / "ahead")
    for verb in (["run", WORK / "ahead"], ["plan", "blame", WORK / "ahead"], ["compile", SMALL, "-p", "aot-c", "-o", WORK / "a", "--check"]):
        refused(verb, 2, "TN8108", "tenon_small_cnn_run()", "cc -std=c11", "sdk/docs/firmware.md", "-p graph-cpu")
    refused(["compile", SMALL, "-p", "aot-c", "-o", WORK / "a", "--check"], 2, "TN8108", "without --check", f"-c {WORK / 'a' / 'model.c'}")
    for args in (["opt", missing], ["plan", "solve", missing], ["plan", "show", missing], ["plan", "check", missing, missing],
                 ["opt", folder]):
        refused(args, 2, "TN2001")
    refused(["validate", missing], 2, "TN2111")
    refused(["plan", "solve", ROOT / "missing.csv", "--planner", "./nope.so"], 2, "TN2001")
    (WORK / "b.csv").write_text("id,lower,upper,size\na,0,2,8\n")
    refused(["plan", "solve", "b.csv", "--planner", "./nope.so"], 3, "TN1001", "nope.so", "check the path")
    (WORK / "empty.yaml").write_text("tenon: 1\nboard: host\nsteps: []\n")
    refused(["validate", WORK / "empty.yaml"], 2, "TN2107", "steps")
    expect("boards/stm32h743.yaml: valid" in ok("validate", "stm32h743").stdout, "a board is found by its name")
    ok("validate", "graph-cpu", "--board", "stm32h743")
    refused(["validate", "stm32h734"], 2, "TN2111", "no pipeline or board is called", "did you mean 'stm32h743'?")
    goal = WORK / "goal.yaml"
    for word, right in (("fit", True), ("optimal", True), ("fitt", False)):
        goal.write_text(f"tenon: 1\nextends: graph-cpu\nsteps: [import, infer-shapes, mark-views, fuse-ops, lower, {{plan: {{with: exact, goal: {word}}}}}, emit]\n")
        if right:
            ok("compile", SMALL, "-p", goal, "-o", WORK / "goal")
        else:
            refused(["validate", goal], 2, "TN2105", "'fitt', allowed are optimal, fit", "did you mean 'fit'?")
    npy_files()
    # A link as output: the folder that it names is replaced, the link stays.
    real, link = WORK / "real", WORK / "link"
    real.mkdir()
    link.symlink_to(real)
    ok("compile", SMALL, "-o", link)
    expect(link.is_symlink() and (real / "program.json").exists(), "a link as output is followed")
    dangling = WORK / "dangling"
    dangling.symlink_to(WORK / "nowhere")
    refused(["compile", SMALL, "-o", dangling], 2, "TN2150", "link")
    # What a file calls things cannot speak to the terminal.
    evil = module("evil", '  %1 "t\\x1b]0;t\\x07\\x0a" = relu(%0) : f32[4]\n  return %1\n', '%0 "in\\x1b[31m": f32[4]', '"y\\x1b[2J\\x0a"')
    r = ok("compile", evil, "-o", WORK / "evil", "--timing")
    shown = [r, ok("run", WORK / "evil", "--profile"), ok("plan", "show", WORK / "evil"), ok("fit", evil),
             tenon("run", WORK / "evil", "--fill", "x=const:1"), ok("plan", "export", WORK / "evil", "-o", "evil\x1b[1m.json")]
    for r in shown:
        expect("\x1b" not in r.stdout + r.stderr and "\x07" not in r.stdout + r.stderr, f"control characters are shown: {r.args}")
    json.loads(ok("run", WORK / "evil", "--json").stdout)
    # Names that are no UTF-8.
    (WORK / "latin.tir").write_bytes(b'tenon 1.0\nmodule "latin"\nfunc @main(%0 "a\\xe9": f32[4]) -> ("\\xff") {\n  %1 "\\xe9" = relu(%0) : f32[4]\n  return %1\n}\n')
    ok("compile", WORK / "latin.tir", "-o", WORK / "latin")
    json.loads(ok("run", WORK / "latin", "--json").stdout)


def npy_files():
    out = small_artefact()
    save = lambda name, a: np.save(WORK / name, a)
    save("big.npy", np.zeros((1, 3, 64, 64), ">f4"))
    np.save(WORK / "object.npy", np.array([{}], object), allow_pickle=True)
    save("fortran.npy", np.asfortranarray(np.zeros((3, 4), "f4")))
    save("text.npy", np.array(["a"]))
    save("other.npy", np.zeros((2, 2), "f4"))
    whole = (WORK / "other.npy").read_bytes()
    (WORK / "cut.npy").write_bytes(whole[:-1])
    (WORK / "overflow.npy").write_bytes(whole.replace(b"(2, 2), }", b"(4294967296, 4294967296, 4), }"))
    for name, words in (("big", ("newbyteorder",)), ("object", ("float32",)), ("fortran", ("ascontiguousarray",)),
                        ("text", ("astype",)), ("cut", ("15 bytes", "16")), ("overflow", ("2^63",))):
        refused(["run", out, "--input", f"image={WORK / name}.npy"], 1, "TN8101", *words)
    refused(["run", out, "--input", f"image={WORK / 'other.npy'}"], 1, "TN8008", "f32[1, 3, 64, 64]")
    refused(["run", out, "--input", f"image={WORK / 'nope.npy'}"], 2, "TN2001")


def check_memory():
    huge = module("huge", "  %1 = range() {count = 100000000000, dtype = f32, start = 0.0, step = 1.0} : f32[100000000000]\n"
                  "  %2 = reduce_sum(%1) {axes = [0], keepdims = false} : f32[]\n  return %2\n")
    text = ok("opt", huge, "--passes", "infer-shapes,simplify,fold-constants,dead-code").stdout
    expect("range()" in text, "a large range is not folded")
    refused(["compile", huge, "-o", WORK / "huge", "--check"], 1, "TN8107", "400000000020 bytes")
    expect(not (WORK / "huge").exists(), "a check that fails leaves no folder")
    wide = module("wide", "  %1 = relu(%0) : f32[1000000000000]\n  return %1\n", '%0 "x": f32[1000000000000]')
    shown = ok("fit", wide).stdout
    expect("owned by the caller" in shown and "3.64 TiB" in shown, f"fit hides what the caller owns: {shown}")
    ok("compile", wide, "-o", WORK / "wide")
    refused(["run", WORK / "wide"], 1, "TN8107", "8000000000000")
    limit = lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_AS, (1 << 30, 1 << 30))
    big = module("big", "  %1 = relu(%0) : f32[500000000]\n  return %1\n", '%0 "x": f32[500000000]')
    ok("compile", big, "-o", WORK / "big")
    r = tenon("run", WORK / "big", preexec_fn=limit)
    expect(r.returncode == 1 and "error[TN8" in r.stderr, f"out of memory: exit {r.returncode}, {r.stderr}")


def check_onnx():
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    info = lambda name, shape, t=TensorProto.FLOAT: helper.make_tensor_value_info(name, t, shape)

    def model(name, outputs, values=(), inputs=None, inits=(), nodes=None):
        nodes = nodes or [helper.make_node("Relu", ["x"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
        g = helper.make_graph(nodes, "g", inputs or [info("x", [1, 3])], outputs, list(inits), value_info=list(values))
        path = WORK / f"{name}.onnx"
        onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 13)]), path)
        return path

    def wrong(path, code, *words):
        refused(["compile", path, "-o", WORK / "never"], 1, code, *words)

    y = [info("y", [1, 3])]
    wrong(model("shape", [info("y", [1, 4])]), "TN7011", "f32[1, 4]", "f32[1, 3]", "'y'")
    wrong(model("rank", [info("y", [3])]), "TN7011", "f32[3]", "f32[1, 3]")
    wrong(model("type", [info("y", [1, 3], TensorProto.INT8)]), "TN7011", "i8[1, 3]", "f32[1, 3]")
    wrong(model("inner", y, [info("m", [2, 3])]), "TN7011", "'m'", "f32[2, 3]", "f32[1, 3]")
    for name, shape in (("exact", [1, 3]), ("symbol", ["n", 3]), ("unknown", [None, None]), ("none", None)):
        ok("fit", model(name, [info("y", shape)], [info("m", shape)]))
    wrong(model("inputs", y, inputs=[info("x", [1, 3]), info("x", [1, 3])]), "TN7004", "'x'", "two inputs")
    one = helper.make_tensor("w", TensorProto.FLOAT, [1, 3], [1, 2, 3])
    add = [helper.make_node("Add", ["x", "w"], ["y"])]
    wrong(model("inits", y, inits=[one, one], nodes=add), "TN7004", "'w'", "two initializers")
    ok("fit", model("default", y, inputs=[info("x", [1, 3]), info("w", [1, 3])], inits=[one], nodes=add))
    relu = lambda a, b: helper.make_node("Relu", [a], [b])
    wrong(model("outs", y, nodes=[relu("x", "y"), relu("x", "y")]), "TN7004", "'y'")
    wrong(model("shadow", [info("x", [1, 3])], nodes=[relu("x", "x")]), "TN7004", "'x'", "input")
    wrong(model("shadow2", y, inits=[one], nodes=[relu("x", "w"), relu("w", "y")]), "TN7004", "'w'", "initializer")
    open_dims = model("open", [info("y", ["n", "t"])], inputs=[info("x", ["n", "t"])])
    fitted = lambda *args: ok("compile", open_dims, *args, "--print-after", "import", "--stop-after", "import").stdout
    for args in (["--dim", "n=2", "--dim", "t=5"], ["--dim", "n=2", "--shape", "x=2x5"]):
        expect("f32[2, 5]" in fitted(*args), f"{args}: another shape")
    wrong(open_dims, "TN7008", "nxt", "--dim")
    for args, code, words in ((["--dim", "n=2"], "TN7008", ["nxt"]), (["--dim", "m=2"], "TN7006", ["'m'", "'n', 't'"]),
                              (["--dim", "n=3", "--shape", "x=2x5"], "TN7006", ["2x5"])):
        refused(["compile", open_dims, "-o", WORK / "never", *args], 1, code, *words)
    for text in ("n", "n=", "n=2x3", "n=-1", "n=x"):
        refused(["compile", open_dims, "-o", WORK / "never", "--dim", text], 2, "TN2151")
    refused(["compile", SMALL, "-o", WORK / "never", "--dim", "n=2"], 1, "TN7006", "'n'")
    rng = np.random.default_rng(1)
    half = lambda name: numpy_helper.from_array(rng.random([64, 1024], dtype=np.float32), name)
    large = model("cut", [info("y", [64, 1024])], inputs=[info("x", [64, 1024])], inits=[half("a"), half("b")],
                  nodes=[helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Add", ["x", "c"], ["r0"]),
                         *(relu(f"r{i}", f"r{i + 1}") for i in range(3000)), relu("r3000", "y")])
    p = subprocess.Popen([TENON, "compile", large, "-o", WORK / "never", "--print-after", "import"], cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdout.read(1)  # it is imported, and waits: the pipe is too small for the text of 3000 nodes
    os.truncate(large, 4096)
    told = p.communicate(timeout=900)[1]
    expect(p.returncode == 2 and "error[TN2001]" in told and "cut short" in told, f"a model that shrinks: exit {p.returncode}, {told}")


def check_outputs():
    """What -o may replace: regular files that may be written, through links; nothing else."""
    csv = WORK / "o.csv"
    csv.write_text("id,lower,upper,size\na,0,3,64\n")
    os.mkfifo(WORK / "pipe")
    (WORK / "locked.json").write_text("{}")
    (WORK / "locked.json").chmod(0o444)
    (WORK / "real.json").write_text("{}")
    (WORK / "link.json").symlink_to("real.json")
    refused(["plan", "solve", csv, "-o", WORK / "pipe"], 2, "TN2002", "not a regular file")
    refused(["plan", "solve", csv, "-o", WORK / "locked.json"], 2, "TN2002", "write-protected")
    refused(["plan", "solve", csv, "-o", csv], 2, "TN2002", "the request itself")
    ok("plan", "solve", csv, "-o", WORK / "link.json")
    expect((WORK / "link.json").is_symlink() and "tenon_plan" in (WORK / "real.json").read_text(), "a link stays, its file is written")
    expect((WORK / "locked.json").read_text() == "{}" and csv.read_text().startswith("id,"), "nothing else changed")
    for work in ("-1", "0", "99999999999999999999999"):
        refused(["plan", "solve", csv, "--work", work], 2, "TN2152")
    refused(["plan", "solve", csv, "--deadline", "nans"], 2, "TN2151")
    refused(["plan", "compare", csv, "--planners", ""], 2, "TN2151")


def check_plan():
    csv, placed = WORK / "b.csv", WORK / "p.csv"
    csv.write_text("id,lower,upper,size,pool\na,0,2,64,fast\nb,1,3,64,slow\nc,2,4,64,\n")
    pools = ["--pool", "fast:64", "--pool", "slow:128"]
    ok("plan", "solve", csv, *pools, "-o", placed)
    ok("plan", "check", csv, placed, *pools)
    refused(["plan", "check", csv, placed], 1, "TN4412", "--pool fast:SIZE")
    refused(["plan", "check", csv, placed, "--pool", "fast:64", "--pool", "slow:32"], 1, "TN4115", "larger pool")
    refused(["plan", "check", csv, placed, "--pool", "fast"], 1, "TN4420")
    rows = placed.read_text().splitlines()
    at = rows[0].split(",").index("offset")
    wrong = [r.split(",") for r in rows]
    wrong[1][at] = "1000"
    placed.write_text("\n".join(",".join(r) for r in wrong) + "\n")
    refused(["plan", "check", csv, placed, *pools], 1, "TN4004", "correct the plan")
    r = tenon("plan", "check", csv, placed, *pools)
    expect(r.returncode == 1 and "author" not in r.stderr and "p.csv" in r.stderr, f"a plan by hand has no author: {r.stderr}")
    pins = WORK / "pins.csv"
    pins.write_text("id,lower,upper,size,offset\na,0,2,64,64\nb,1,3,64,\n")
    expect("1 token pinned by column offset" in ok("plan", "solve", pins).stdout, "solve says what is pinned")
    expect("pinned" not in ok("plan", "solve", csv, *pools).stdout, "and nothing else")
    pins.write_text("id,lower,upper,size,offset\na,0,2,32,64\nb,1,3,64,0\n")
    placed.write_text("id,lower,upper,size,offset\na,0,2,64,64\nb,1,3,64,0\n")
    refused(["plan", "check", pins, placed], 1, "TN4012", "'a': its size is 64, in the request 32")
    r = tenon("plan", "check", pins, placed)
    expect("p.csv:2:1" in r.stderr, f"the row is named: {r.stderr}")
    check_claims()
    refused(["plan", "merge", f"={pins}", "-o", WORK / "merged.json"], 1, "TN4431", "model 1 has no name", "NAME=FILE")
    (WORK / "none.csv").write_text("id,lower,upper,size\n")
    expect("0 tokens placed" in ok("plan", "solve", "none.csv").stdout, "a request without buffers is planned")
    out = small_artefact()
    for name in ("request.json", "plan.json"):
        good = (out / name).read_text()
        for text in ("", good[: len(good) // 2], "[1, 2]", '{"pools": 7}', good.replace('"size"', '"sighs"', 1), "\0" * 50):
            if text == good:
                continue
            (out / name).write_text(text)
            for verb in (["show", out], ["export", out, "-o", WORK / "e.json"]):
                if name == "plan.json" and verb[0] == "export":
                    continue
                r = tenon("--error-format=json", "plan", *verb)
                named = r.returncode in (1, 2) and all(d["code"] and name in d["file"] for d in json.loads(r.stderr))
                expect(named, f"plan {verb[0]} with {name} = {text[:20]!r}: exit {r.returncode}, {r.stderr[:300]}")
        (out / name).write_text(good)
    ok("plan", "show", out)
    refused(["plan", "at", out, "--pool", "nope", "--address", "1"], 2, "TN2151", "no pool 'nope'", "ram")
    ok("plan", "at", out, "--pool", "ram", "--address", "1")


def check_claims():
    """What a plan or a request says of itself is proved, refused, or told as a claim."""
    request, planned = WORK / "claims.json", WORK / "claims_plan.json"
    asked = {"tenon_request": 1, "pools": [{"id": "ram"}], "tokens": [
        {"name": name, "size": 8, "align": 16, "live": [0, 2]} for name in "ab"]}
    request.write_text(json.dumps(asked))
    ok("plan", "solve", request, "--planner", "exact", "-o", planned)
    plan = json.loads(planned.read_text())
    pool = plan["pools"][0]
    expect(plan["optimal"] and pool["peak"] == 24 and pool["bound"] == 16, f"exact proves 24 bytes: {plan}")
    shown = ok("plan", "check", request, planned).stdout
    expect("claimed optimal by its planner, not checked" in shown, f"a claim is told as one: {shown}")
    pool["bound"] = 24
    planned.write_text(json.dumps(plan))
    refused(["plan", "check", request, planned], 1, "TN4011", "24 bytes at least; 16 are proved")
    pool.update(bound=16, peak=23)
    planned.write_text(json.dumps(plan))
    refused(["plan", "check", request, planned], 1, "TN4011", "peaks at 23 bytes, its slots reach 24")
    asked["pools"][0].update(base=2**64 - 16, capacity=64)
    request.write_text(json.dumps(asked))
    refused(["plan", "solve", request], 1, "TN4114", "64 bytes from address 18446744073709551600")


def check_plugin():
    text = ok("plugin", "inspect", "greedy").stdout
    expect(re.search(r"dives +int +12 +1\.\.1000000 +at most so many", text), f"options as text: {text}")
    shown = json.loads(ok("plugin", "inspect", "tenon.exact", "--json").stdout)
    goal = next(o for o in shown["offers"][0]["options"] if o["key"] == "goal")
    expect(goal["type"] == "optimal|fit" and goal["default"] == "optimal" and "peak" in goal["doc"], f"options as JSON: {goal}")
    expect(shown["offers"][0]["kind"] == "planner" and shown["id"] == "tenon.exact", f"what it offers: {shown}")
    file = shown["file"]
    expect(json.loads(ok("plugin", "inspect", file, "--json").stdout) == shown, "by its file")
    expect("option" not in ok("plugin", "inspect", file, "--no-load").stdout, "--no-load knows no options")
    passes = json.loads(ok("plugin", "inspect", "tenon-passes", "--json").stdout)
    fuse = next(o for o in passes["offers"] if o["id"] == "tenon.fuse-ops")
    expect(any(o["key"] == "max_nodes" and o["range"] for o in fuse["options"]), f"options of passes: {fuse}")
    refused(["plugin", "inspect", "no-such"], 3, "TN1002")


def check_csv():
    def csv(text):
        (WORK / "b.csv").write_bytes(text)
        return WORK / "b.csv"

    head = b"id,lower,upper,size\n"
    refused(["plan", "solve", csv(head + b"\xff,0,3,10\n")], 1, "TN4412", "UTF-8")
    refused(["plan", "solve", csv(head + b"a\x00b,0,3,10\n")], 1, "TN4412", "control")
    refused(["plan", "solve", csv(head + b"a,0,3,10\nb,0,3,10\n\na,0,3,10\n")], 1, "TN4107", "line 2")
    ok("plan", "solve", csv(b"hint,id,lower,upper,size\n-1,a,0,3,10\nzz,b,0,3,10\n"), "--work", "5M")
    plan = WORK / "p.json"
    ok("plan", "solve", csv(head + b"a,0,3,10\nb,2,5,10\n"), "-o", plan)
    ok("plan", "check", WORK / "b.csv", plan)
    good = json.loads(plan.read_text())
    good["pools"][0]["peak_step"] = 4
    plan.write_text(json.dumps(good))
    refused(["plan", "check", WORK / "b.csv", plan], 1, "TN4011", "step 4")
    flow = WORK / "flow.yaml"
    flow.write_text("tenon: 1\nextends: graph-cpu\nsteps: [import, infer-shapes, simplify, fold-constants, mark-views, fuse-ops, lower, plan]\n")
    refused(["compile", SMALL, "-p", flow, "-o", WORK / "none"], 2, "TN2151", "emit")
    expect(not (WORK / "none").exists(), "a folder without an artefact")


def check_artefact():
    out = small_artefact()
    path = out / "program.json"
    good = path.read_text()
    want = ok("run", out).stdout.splitlines()[0]
    spans = [m.span() for m in re.finditer(r"(?<![\w.])\d+(?![\w.])", good)]
    for begin, end in spans[:: max(1, len(spans) // 60)]:
        n = int(good[begin:end])
        for edit in {0, 1, -1, n + 1, 1 << 31, 1 << 32, 1 << 63} - {n}:
            path.write_text(f"{good[:begin]}{edit}{good[end:]}")
            refused(["run", out], 1, "TN8015", "program.json")
    path.write_text(good)
    expect(ok("run", out).stdout.splitlines()[0] == want, "the artefact as it was runs as it did")
    image = next(out.glob("constants.*.bin"))
    data = bytearray(image.read_bytes())
    data[len(data) // 2] ^= 1
    image.write_bytes(data)
    refused(["run", out, "--verify"], 1, "TN8015", image.name)


def check_profile():
    out = small_artefact()
    table = ok("run", out, "--profile").stdout
    expect(re.search(r"step +ms +share +Gop/s +GB/s +writes", table), f"a table of steps: {table}")
    ok("run", out, "--repeat", "3", "--profile", WORK / "p.json")
    steps = json.loads((WORK / "p.json").read_text())
    calls = [s for s in steps if s["kind"] == "call"]
    names = set(json.loads((out / "request.json").read_text())["steps"])
    expect(calls and all(s["name"] in names for s in steps), f"steps have the names of the plan: {steps}")
    for s in calls:
        expect(s["ns"] > 0 and s["bytes"] > 0 and s["inputs"] and s["outputs"] and s["kernel"] in (out / "program.json").read_text(), str(s))
    expect(abs(sum(s["share"] for s in steps) - 1) < 1e-6, "shares add up to 1")
    ok("run", out, "--profile", WORK / "p.trace.json")
    events = [e for e in json.loads((WORK / "p.trace.json").read_text())["traceEvents"] if e["ph"] == "X"]
    expect([e["name"] for e in events] == [s["name"] for s in steps], "an event per step")
    expect(all(a["ts"] + a["dur"] <= b["ts"] + 1e-6 for a, b in zip(events, events[1:])), "events follow each other")
    begun = time.perf_counter()
    told = json.loads(ok("run", out, "--json").stdout)
    wall = (time.perf_counter() - begun) * 1e3
    expect(0 < told["first_run_ms"] and 0 < told["load_ms"] and told["first_run_ms"] + told["load_ms"] < wall, f"{told} within {wall} ms")
    expect(re.search(r"load: [0-9.]+ ms, first run: [0-9.]+ ms\n", ok("run", out).stdout), "loading and the first run")


def check_casts():
    values = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e10, -1e10, 300.5, -300.5, 128, 127.9, -128.9, -129, 100, -100, 15.9, 16, 7.9, 8,
              -8.9, -9, 0.9, -0.9, -0.0, 32768, 65536, 2147483648, -2147483904, 9.3e18, 1.9e19]
    n = len(values)
    spelled = ", ".join(repr(float(np.float32(v))).replace("+", "") for v in values)
    x = np.array(values, "f4")
    np.save(WORK / "x.npy", x)
    ends = {"i4": (-8, 7), "u4": (0, 15), "i8": (-128, 127), "u8": (0, 255), "i16": (-(2**15), 2**15 - 1), "u16": (0, 2**16 - 1),
            "i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "i64": (-(2**63), 2**63 - 1), "u64": (0, 2**64 - 1)}
    law = lambda v, low, high: 0 if np.isnan(v) else high if v > high else low if v < low else int(v)
    constant = f"  %1 = constant() {{value = const f32[{n}] [{spelled}]}} : f32[{n}]\n"
    for t in ("i4", "u4"):  # no target compiles them: what is folded follows the law
        body = f"{constant}  %2 = cast(%1) {{to = {t}}} : {t}[{n}]\n  %3 = cast(%2) {{to = i8}} : i8[{n}]\n  return %3\n"
        m = module(f"casts_{t}", body, f'%0 "x": f32[{n}]')
        text = ok("opt", m, "--passes", "fold-constants,dead-code").stdout
        ok("compile", m, "-o", WORK / t)
        ok("run", WORK / t, "--output", WORK / f"{t}_out")
        got = np.load(WORK / f"{t}_out/out_0.npy")
        expect("cast(" not in text and [int(v) for v in got] == [law(v, *ends[t]) for v in x.astype("f8")], f"{t}: {got}")
    whole = [t for t in ends if t not in ("i4", "u4")]
    for via in ("f32", "f16", "bf16", "f64"):
        body, names = "", []
        for k, t in enumerate(whole):
            for base, source in ((100 * k + 10, "%0"), (100 * k + 50, "%1")):
                at = source
                for j, to in enumerate([t] if via == "f32" else [via, t]):
                    body += f"  %{base + j} = cast({at}) {{to = {to}}} : {to}[{n}]\n"
                    at = f"%{base + j}"
                names.append(at)
        body = constant + body + "  return " + ", ".join(names) + "\n"
        m = module(f"casts_{via}", body, f'%0 "x": f32[{n}]', ", ".join(f'"o{i}"' for i in range(len(names))))
        ok("compile", m, "-o", WORK / via)
        ok("run", WORK / via, "--input", f"x={WORK / 'x.npy'}", "--output", WORK / f"{via}_out")
        for k, t in enumerate(whole):
            compiled, folded = (np.load(WORK / f"{via}_out/out_{2 * k + i}.npy") for i in (0, 1))
            expect(np.array_equal(compiled, folded), f"{via} -> {t}: compiled {compiled}, folded {folded}")
            if via == "f32":
                right = [law(v, *ends[t]) for v in x.astype("f8")]
                expect([int(v) for v in folded] == right, f"{t}: {folded}, by the law {right}")


def check_chains():
    n = 100000
    body = "".join(f"  %{i + 1} = {'relu' if i % 2 else 'neg'}(%{i}) : f32[4]\n" for i in range(n)) + f"  return %{n}\n"
    chain = module("chain", body)
    ok("opt", chain, "--passes", "infer-shapes,simplify,fold-batch-norm,fold-constants,dead-code,mark-views,fuse-ops", "-o", WORK / "out.tir")
    constants = ("  %0 = constant() {value = const f32[4] [1.0, 2.0, 3.0, 4.0]} : f32[4]\n" + body)
    path = WORK / "constants.tir"
    path.write_text(f'tenon 1.0\nmodule "constants"\nfunc @main() -> ("y") {{\n{constants}}}\n')
    folded = ok("opt", path, "--passes", "fold-constants,dead-code").stdout
    expect(folded.count("\n") < 12, "a chain of constants folds to one")
    ok("compile", chain, "-o", WORK / "chain", "--check", "--set", "fuse-ops.max_nodes=1")  # 100 000 steps and tokens
    ok("run", WORK / "chain")
    ok("plan", "show", WORK / "chain")

    def faults(**env):
        p = subprocess.Popen([TENON, "opt", chain, "--passes", "infer-shapes", "-o", WORK / "out.tir"], env=dict(os.environ, **env))
        return os.wait4(p.pid, 0)[2].ru_minflt
    pages = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if pages.exists() and "[never]" not in pages.read_text():
        large, small = faults(), faults(MIMALLOC_LARGE_OS_PAGES="0")
        expect(large * 4 < small, f"{large} page faults, {small} without large pages")


def check_loops():
    m = module("power", """  %2 = loop(%1, %0) : f32[8, 8] region (%3: i64[], %4: f32[8, 8]) {
    %5 = matmul(%4, %0) : f32[8, 8]
    %6 = cast(%3) {to = f32} : f32[]
    %7 = add(%5, %6) : f32[8, 8]
    return %7
  }
  return %2
""", '%0 "x": f32[8, 8], %1 "n": i64[]')
    out = WORK / "power"
    ok("compile", m, "-o", out)
    ok("plan", "show", out)
    x = np.random.default_rng(1).random((8, 8), "f4") / 8
    np.save(WORK / "x.npy", x)
    for n in (5, 1, 0, -2):
        np.save(WORK / "n.npy", np.array(n, "i8"))
        ok("run", out, "--input", f"x={WORK / 'x.npy'}", "--input", f"n={WORK / 'n.npy'}", "--output", WORK / "o", "--poison", "--profile")
        want = x
        for i in range(n):
            want = want @ x + np.float32(i)
        got = np.load(WORK / "o/out_0.npy")
        expect(np.allclose(got, want, rtol=1e-5, atol=0), f"{n} iterations: {got}, {want} was expected")


def check_state():
    m = module("cell", """  %2 = add(%0, %1) : f32[4]
  %3 = relu(%2) : f32[4]
  return %2, %3
""", '%0 "x": f32[4], %1 "h": f32[4]', '"h_next", "y"')
    flow = WORK / "flow.yaml"

    def pair(text):
        flow.write_text(f"tenon: 1\nextends: graph-cpu\nstate: [{text}]\n")
        return flow

    out = WORK / "cell"
    shown = ok("compile", m, "-p", pair("{input: h, output: h_next}"), "-o", out).stdout
    expect("inputs 16 B, outputs 16 B" in shown, f"the state is no longer the caller's: {shown}")
    ok("validate", flow)
    tokens = json.loads((out / "request.json").read_text())["tokens"]
    expect([v["role"] for t in tokens for v in t["values"] if v["name"] == "h"] == ["state"], "a value with the role of state")
    x = np.array([1, -2, 3, -4], "f4")
    np.save(WORK / "x.npy", x)
    for h in (None, np.array([10, 20, 30, 40], "f4")):
        given = []
        if h is not None:
            np.save(WORK / "h.npy", h)
            given = ["--input", f"h={WORK / 'h.npy'}"]
        ok("run", out, "--input", f"x={WORK / 'x.npy'}", *given, "--output", WORK / "o", "--poison", "--repeat", "3")
        want = x + (0 if h is None else h)
        expect(np.array_equal(np.load(WORK / "o/out_0.npy"), want), f"{np.load(WORK / 'o/out_0.npy')}, {want} was expected")
        expect(np.array_equal(np.load(WORK / "o/out_1.npy"), np.maximum(want, 0)), "y")
    refused(["compile", m, "-p", pair("{input: hh, output: h_next}"), "-o", out], 1, "TN4209", "hh", "did you mean `h`")
    refused(["compile", m, "-p", pair("{input: h}"), "-o", out], 2, "TN2107", "output")
    code = WORK / "c"
    flow.write_text("tenon: 1\nextends: aot-c\nstate: [{input: h, output: h_next}]\n")
    ok("compile", m, "-p", flow, "-o", code)
    (WORK / "main.c").write_text("""#include "model.h"
#include <stdio.h>
int main(void) {
  float x[4] = {1, -2, 3, -4}, y[4];
  for (int i = 0; i < 3; ++i) {
    tenon_cell_inputs in = {x, 0};
    tenon_cell_outputs out = {0, y};
    if (tenon_cell_run(&in, &out) != 0) return 1;
  }
  return y[0] == 3 && y[1] == 0 && y[2] == 9 && y[3] == 0 ? 0 : 2;
}
""")
    built = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{code}", WORK / "main.c", code / "model.c", "-o", WORK / "cell.exe"],
                           capture_output=True, text=True)
    expect(built.returncode == 0, built.stderr)
    expect(subprocess.run([WORK / "cell.exe"]).returncode == 0, "three runs of generated C add up")


shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)
try:
    globals()[f"check_{CHECK}"]()
except Exception:
    bad.append(traceback.format_exc())
shutil.rmtree(WORK, ignore_errors=True)
print("\n".join(bad) or f"cli {CHECK}: ok")
sys.exit(bool(bad))
