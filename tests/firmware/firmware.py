#!/usr/bin/env python3
"""Models compiled ahead of time to C. Usage: firmware.py <tenon> <work folder> <check>

host     by gcc of this machine (and clean by clang): outputs bitwise equal to the graph executor with the same schedule; pools of
         exactly the planned size suffice, a granule less faults, and with granule 1 a byte less is seen by AddressSanitizer;
         bytes that a board reserves are not touched
board    on the Cortex-M7 of QEMU, every model that fits: outputs bitwise equal, guards intact, memory as `tenon fit` says; the linker
         takes memories of exactly that size, and refuses one byte less

With TENON_SHARED (default ../shared) the models of tests/models are taken, always the small network.
"""
import ctypes, json, os, pathlib, re, shutil, signal, subprocess, sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from foundation import MODELS

TENON, WORK, CHECK = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TENON_SHARED", ROOT.parent / "shared"))
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wconversion"]
POISON, GUARD = 0xA5, 64
POOLS = """pools:
  ram:    {granule: 64, access: {cpu: rw}}
  rodata: {granule: 64, access: {cpu: r}, holds: [constants]}
  worker: {granule: 64, access: {cpu: rw}, holds: [worker]}
"""
# The schedule of a Cortex-M7: scalars, 32 registers.
GRAPH = "tenon: 1\ntargets: {cpu: {with: llvm, cpu: native, vector_bytes: 4, vector_registers: 32}}\n" + POOLS
AOT = "tenon: 1\ntargets: {cpu: {with: c, cpu: cortex-m7}}\n" + POOLS
bad = []


def run(*args, **kw):
    r = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=900, **kw)
    if r.returncode:
        bad.append(f"{' '.join(map(str, args))[:300]}: exit {r.returncode}: {(r.stdout + r.stderr).strip()[:1500]}")
    return r


def expect(ok, what):
    if not ok:
        bad.append(what)
    return ok


class Model:
    """A model, its inputs, and what the graph executor of this machine makes of them."""

    def __init__(self, name, path, shapes, inputs):
        self.name, self.path, self.shapes, self.inputs = name, path, shapes, inputs
        self.folder = WORK / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def compile(self, out, *args):
        return run(TENON, "compile", self.path, *self.shapes, "-o", self.folder / out, *args).returncode == 0

    def expected(self):
        (self.folder / "graph.yaml").write_text(GRAPH)
        if not self.compile("graph", "--board", self.folder / "graph.yaml"):
            return None
        given = []
        for k, (name, value) in enumerate(self.inputs):
            np.save(self.folder / f"in{k}.npy", value)
            given += ["--input", f"{name}={self.folder / f'in{k}.npy'}"]
        run(TENON, "run", self.folder / "graph", *given, "--output", self.folder / "want")
        shutil.rmtree(self.folder / "graph", ignore_errors=True)
        n = len(list((self.folder / "want").glob("out_*.npy")))
        return [np.load(self.folder / f"want/out_{k}.npy") for k in range(n)]


def small():
    rng = np.random.default_rng(1)
    return Model("small_cnn", ROOT / "sdk/examples/small_cnn.tir", [], [("image", rng.standard_normal((1, 3, 64, 64), np.float32))])


def shared(name, file, fixed={}):
    path = SHARED / "models" / file
    if file.startswith("gen/"):
        path = WORK / file
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            run(sys.executable, SHARED / "peer/gen_models.py", path.parent)
    folder = SHARED / "models/expected" / name
    inputs = [i for i in json.loads((folder / "io.json").read_text())["inputs"] if i["name"] not in fixed]
    args = [a for i in inputs for a in ("--shape", f"{i['name']}={'x'.join(map(str, i['dims'])) or 'scalar'}")]
    if fixed:
        args += ["--set", f"import.fix=[{','.join(f'{k}={v}' for k, v in fixed.items())}]"]
    return Model(name, path, args, [(i["name"], np.load(folder / i["file"])) for i in inputs])


def models():
    """One after another: each takes its time. TENON_MODELS names some of them."""
    only = os.environ.get("TENON_MODELS", "").split()
    if not only or "small_cnn" in only:
        yield small()
    for name, file, _, *fixed in MODELS if SHARED.is_dir() else []:
        if not only or name in only:
            yield shared(name, file, *fixed)


def same(model, got, want):
    """Bitwise; NaN is NaN."""
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        g = np.frombuffer(g, w.dtype).reshape(w.shape)
        ok = (g.view(f"u{w.itemsize}") == w.view(f"u{w.itemsize}")) | ((g != g) & (w != w))
        far = np.linalg.norm(g.astype(np.float64) - w) / max(np.linalg.norm(w.astype(np.float64)), 1e-30)
        expect(ok.all(), f"{model.name}: output {k}: {np.count_nonzero(~ok)} of {w.size} elements differ, relative L2 {far:.3g}")


def pools_of(header):
    return {m[1]: int(m[2]) for m in re.finditer(r"#define TENON_MODEL_POOL_(\w+)_BYTES (\d+)u", header)}


def write_shim(model, source):
    """model.c with its pools in memory of ours: test_<POOL> points to it."""
    pools = [p for p, n in pools_of((source.parent / "model.h").read_text()).items() if n and p != "RODATA"]
    shim = model.folder / "shim.c"
    shim.write_text("".join(f"unsigned char* test_{p};\n#define TENON_MODEL_POOL_{p}_ADDRESS test_{p}\n" for p in pools)
                    + f'#include "{source}"\n')
    return shim


def run_here(model, want, optimise, so="model.so"):
    """Builds model.c with the pools in memory of ours, guards around; runs it; gives that memory by pool: array, begin, bytes.
    `so` is new for each build: the loader knows objects by their path."""
    out = model.folder / "aot"
    header = (out / "model.h").read_text()
    pools = {p: n for p, n in pools_of(header).items() if n and p != "RODATA"}
    so = model.folder / so
    if run("gcc", *STRICT, optimise, "-shared", "-fPIC", f"-I{out}", write_shim(model, out / "model.c"), "-o", so, "-Wl,-z,defs", "-lc").returncode:
        return
    lib = ctypes.CDLL(str(so))
    memory = {}
    for p, n in pools.items():
        raw = np.full(n + 3 * GUARD, POISON, np.uint8)
        at = GUARD - raw.ctypes.data % GUARD
        memory[p] = (raw, at, n)
        ctypes.c_void_p.in_dll(lib, f"test_{p}").value = raw.ctypes.data + at
    values = [np.ascontiguousarray(v) for _, v in model.inputs]
    results = [np.empty(w.shape, w.dtype) for w in want]
    table = lambda arrays: (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    for again in range(2):
        expect(lib.tenon_model_run(table(values), table(results)) == 0, f"{model.name}: the run failed")
    same(model, [r.tobytes() for r in results], want)
    for p, (raw, at, n) in memory.items():
        expect((raw[:at] == POISON).all() and (raw[at + n:] == POISON).all(), f"{model.name}: bytes outside pool {p} were written")
        used = np.flatnonzero(raw[at:at + n] != POISON)[-1] + 1
        # A worker's scratch is sized for the largest block that a kernel may make; a model need not make one.
        expect(n - used < 64 or p == "WORKER", f"{model.name}: pool {p} has {n} bytes, of which {used} are used")
    wrong = table([np.empty(v.nbytes + 1, np.uint8)[1:] for v in values])
    expect(lib.tenon_model_run(wrong, table(results)) == -2, f"{model.name}: a misaligned input was not refused")
    expect(lib.tenon_model_run(None, table(results)) == -1, f"{model.name}: a null pointer was not refused")
    p, (raw, at, n) = next(iter(memory.items()))
    ctypes.c_void_p.in_dll(lib, f"test_{p}").value = raw.ctypes.data + at + 4
    expect(lib.tenon_model_run(table(values), table(results)) == -2, f"{model.name}: a misaligned pool was not refused")
    return memory


def exact(model, want, source, build, less, faults):
    """In memory of exactly the planned size, and `less` bytes of each data pool less, which must not go well."""
    out = source.parent
    names = [p for p, n in pools_of((out / "model.h").read_text()).items() if n and p != "RODATA"]
    (model.folder / "pools.h").write_text("#define POOLS(X) " + " ".join(f"X({p})" for p in names) + "\n")
    for k, (_, value) in enumerate(model.inputs):
        (model.folder / f"input{k}.bin").write_bytes(np.ascontiguousarray(value).tobytes())
    program = model.folder / "exact"
    run("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{out}", f"-I{model.folder}", ROOT / "tests/firmware/exact.c", *build,
        "-o", program)
    if not program.exists() or run(program, "none", 0, cwd=model.folder).returncode:
        return
    same(model, [(model.folder / f"output{k}.bin").read_bytes() for k in range(len(want))], want)
    # A worker's scratch is sized for the largest block that a kernel may make; a model need not make one.
    for p in (p for p in names if p != "WORKER"):
        r = subprocess.run([program, p, str(less)], cwd=model.folder, capture_output=True, text=True, timeout=900)
        expect(faults(r), f"{model.name}: pool {p} with {less} bytes less: exit {r.returncode}: {r.stderr[:300]}")
    program.unlink()


def by_byte(model, want):
    """Pools that count in bytes, on a heap that is watched."""
    (model.folder / "bytes.yaml").write_text(AOT.replace("granule: 64", "granule: 1"))
    if not model.compile("bytes", "-p", "aot-c", "--board", model.folder / "bytes.yaml", "--set", "io=caller", "--set", "emit.name=model"):
        return
    source = model.folder / "bytes/model.c"
    shim = write_shim(model, source)
    exact(model, want, source, [shim, "-DHEAP", "-fsanitize=address"], 1,
          lambda r: r.returncode != 0 and "heap-buffer-overflow" in r.stderr)


def reserved(model, want):
    """The second 4 KiB of the pool are the board's own."""
    board = AOT + "reserved: [{pool: ram, at: 0x1000, size: 4KiB, why: boot loader}]\n"
    (model.folder / "reserved.yaml").write_text(board)
    if model.compile("aot", "-p", "aot-c", "--board", model.folder / "reserved.yaml", "--set", "io=caller", "--set", "emit.name=model"):
        lo, hi = 0x1000, 0x2000
        plan = json.loads((model.folder / "aot/plan.json").read_text())
        size = {t["name"]: t["size"] for t in json.loads((model.folder / "aot/request.json").read_text())["tokens"]}
        there = [s["token"] for s in plan["slots"] if s["pool"] == "ram" and s["offset"] < hi and s["offset"] + size[s["token"]] > lo]
        expect(len(there) == 1 and "boot loader" in there[0], f"{model.name}: on reserved bytes stand {there}")
        memory = run_here(model, want, "-O1", "reserved.so")
        raw, at, n = memory["RAM"]
        expect(n > hi and (raw[at + lo:at + hi] == POISON).all(), f"{model.name}: reserved bytes were touched")


def host():
    for model in models():
        (model.folder / "aot.yaml").write_text(AOT)
        want = model.expected()
        if want is None or not model.compile("aot", "-p", "aot-c", "--board", model.folder / "aot.yaml", "--set", "io=caller",
                                             "--set", "emit.name=model"):
            continue
        files = {f.name for f in (model.folder / "aot").iterdir()}
        expect(files >= {"model.c", "model.h"} and "kernels.c" not in files, f"{model.name}: files {sorted(files)}")
        heavy = (model.folder / "aot/model.c").stat().st_size > 50e6
        run_here(model, want, "-O1" if heavy else "-O2")
        exact(model, want, model.folder / "aot/model.c", [model.folder / "model.so", f"-Wl,-rpath,{model.folder}"], 64,
              lambda r: r.returncode == -signal.SIGSEGV)
        if (model.folder / "aot/model.c").stat().st_size < 3e6:
            by_byte(model, want)
        if model.name in ("small_cnn", "blazeface_front_128"):
            reserved(model, want)
        run("clang", *STRICT, "-fsyntax-only", "-DTENON_STEP_TRACE", model.folder / "aot/model.c")
        print(f"{model.name}: model.c {(model.folder / 'aot/model.c').stat().st_size} bytes")
        shutil.rmtree(model.folder)


ARM = ["-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard"]
QEMU = ["qemu-system-arm", "-M", "mps2-an500", "-cpu", "cortex-m7", "-nographic", "-semihosting-config", "enable=on,target=native"]


def smaller(model, script, pool, bytes):
    """The linker script with a memory of that many bytes."""
    text, n = re.subn(rf"(?m)^(  {pool.upper()} .*LENGTH = )\w+$", rf"\g<1>{bytes}", script.read_text())
    expect(n == 1, f"{script}: no memory {pool.upper()}")
    (model.folder / "small.ld").write_text(text)
    return model.folder / "small.ld"


def board():
    fit_there = []
    for model in models():
        fit = subprocess.run([TENON, "fit", model.path, *model.shapes, "-p", "aot-c", "--json"], capture_output=True, text=True)
        if fit.returncode and expect(re.search(r"error\[TN41(05|15)\]", fit.stderr), f"{model.name}: {fit.stderr}"):
            print(f"{model.name}: does not fit: {fit.stderr.splitlines()[0][:100]}")
        if fit.returncode:
            continue
        fit_there.append(model.name)
        used = {p["pool"]: p["used"] for p in json.loads(fit.stdout)["pools"]}
        want = model.expected()
        if want is None or not model.compile("aot", "-p", "aot-c", "--set", "emit.name=model"):
            continue
        elf, sdk = model.folder / "firmware.elf", ROOT / "sdk/firmware"
        gcc = ["arm-none-eabi-gcc", *ARM, *STRICT, "-O2", f"-I{model.folder / 'aot'}"]
        run(*gcc, "-c", model.folder / "aot/model.c", "-o", model.folder / "model.o")
        link = [*gcc, "-nostartfiles", sdk / "startup.c", sdk / "main.c", model.folder / "model.o", "-o", elf]
        run(*link, "-T", sdk / "mps2-an500.ld", f"-Wl,-Map={model.folder / 'firmware.map'}")
        if not elf.exists():
            continue
        for pool, n in used.items():
            for less in (0, 1) if n else ():
                r = subprocess.run([*link, "-T", smaller(model, sdk / "mps2-an500.ld", pool, n - less), "-o", model.folder / "small.elf"],
                                   capture_output=True, text=True)
                expect((r.returncode == 0) == (less == 0) and (less == 0 or "overflowed by 1 byte" in r.stderr),
                       f"{model.name}: {pool} of {n - less} bytes: exit {r.returncode}: {r.stderr[:600]}")
        sections = {m[1]: int(m[2], 16) for m in re.finditer(r"^\.(\w+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)",
                                                             (model.folder / "firmware.map").read_text(), re.M)}
        for pool, n in used.items():
            expect(sections[f"tenon_{pool}"] == n, f"{model.name}: the map has {sections[f'tenon_{pool}']} bytes of {pool}, fit says {n}")
        expect(sections["stack"] == 4096 and sections.get("data", 0) + sections.get("bss", 0) == 0,
               f"{model.name}: the program's own memory: {sections}")
        for k, (_, value) in enumerate(model.inputs):
            (model.folder / f"input{k}.bin").write_bytes(np.ascontiguousarray(value).tobytes())
        r = run(*QEMU, "-kernel", elf, cwd=model.folder)
        got = [(model.folder / f"output{k}.bin") for k in range(len(want))]
        if expect(r.returncode == 0 and "guards are intact" in r.stdout + r.stderr, f"{model.name}: {r.stdout}{r.stderr}"):
            same(model, [g.read_bytes() for g in got], want)
        print(f"{model.name}: " + ", ".join(f"{p} {n}" for p, n in used.items()) + f", code {sections['text']}, stack 4096")
    expect(len(fit_there) > 9 or not SHARED.is_dir() or "TENON_MODELS" in os.environ, f"only {fit_there} fit the board")


WORK.mkdir(parents=True, exist_ok=True)
{"host": host, "board": board}[CHECK]()
print("\n".join(bad) or f"firmware {CHECK}: ok")
sys.exit(bool(bad))
