#!/usr/bin/env python3
"""What the kernels of whole models look like as machine code. Usage: code.py <tenon> <work folder> <check>

loops   no innermost loop computes element by element, no micro-kernel keeps a vector on the stack; for AVX-512 and for AVX2;
        products of quantised models multiply bytes in groups
cpus    code for a CPU uses the registers and instructions of that CPU, and says that it needs them

Needs TENON_SHARED (default ../shared); without it the small network of the repository is looked at instead.
"""
import collections, json, os, pathlib, re, shutil, subprocess, sys

TENON, WORK, CHECK = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TENON_SHARED", ROOT.parent / "shared"))
os.environ["TENON_CACHE_DIR"] = ""  # every object is compiled
sys.path.insert(0, str(ROOT / "tests/bench"))
import models

NAMED = ["mobilenetv2", "resnet50_rand", "squeezenet_rand", "ultraface_rfb_320", "yunet_n_320", "fastestdet", "blazeface_front_128",
         "minilm_l6_seq128", "mnist_cntk", "mlp_784_b32"]
# Of which the products are of bytes, where the CPU has an instruction for them.
QUANTISED, WITH_BYTES, OF_BYTES = ["minilm_l6_dynquant_seq128", "mobilenetv2_qdq"], "cascadelake", "vpdpbusd"
bad = []


def expect(ok, what):
    if not ok:
        bad.append(what)


def compile_for(cpu, name, model, shapes):
    out = WORK / f"{name}-{cpu}"
    r = subprocess.run([TENON, "compile", model, *shapes, "-o", out, "--set", f"host.cpu={cpu}"], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"{name} for {cpu}: {r.stderr}")
    return out


def subjects(names=NAMED):
    """(name, file, shapes) of what is compiled."""
    if not SHARED.is_dir():
        return [("small", ROOT / "sdk/examples/small_cnn.tir", [])]
    return [(n, f, models.options(models.MODELS[n][1], "--shape")) for n, f in models.paths(names, WORK).items()]


# ---- disassembly

Instruction = collections.namedtuple("Instruction", "at name operands")
LINE = re.compile(r"^\s+([0-9a-f]+):\s+(?:(?:data16|notrack|bnd|rep|repz|repnz|lock)\s+)*(\S+)\s*(.*)$")


def functions(artefact):
    """Kernel -> its instructions, in order; Intel syntax. What a kernel calls stands before it, and has no name."""
    r = subprocess.run(["objdump", "-d", "-M", "intel", "--no-show-raw-insn", artefact / "kernels.so"], capture_output=True, text=True, check=True)
    sizes = subprocess.run(["objdump", "-T", artefact / "kernels.so"], capture_output=True, text=True, check=True).stdout
    ends = sorted((int(m[1], 16) + int(m[2], 16), m[3]) for m in
                  (re.match(r"^([0-9a-f]+)\s.*\.text\s+([0-9a-f]+)\s+(?:\S+\s+)?(\S+)$", line) for line in sizes.splitlines()) if m)
    code = [Instruction(int(m[1], 16), m[2], m[3].split("#")[0].split("<")[0].strip())
            for m in map(LINE.match, r.stdout.splitlines()) if m]
    if not ends or not code:
        sys.exit(f"{artefact}: no kernels in kernels.so")
    kernels, at = {}, 0
    for end, symbol in ends:
        first = at
        while at < len(code) and code[at].at < end:
            at += 1
        kernels[symbol] = code[first:at]
    return kernels


def innermost_loops(code):
    """Bodies of loops that hold no other: from the target of a backward jump to the jump."""
    loops = set()
    for i in code:
        if i.name.startswith("j") and re.fullmatch(r"(0x)?[0-9a-f]+", i.operands):
            target = int(i.operands, 16)
            if code[0].at <= target <= i.at:
                loops.add((target, i.at))
    return [[i for i in code if a <= i.at <= b] for a, b in sorted(loops)
            if not any((c, d) != (a, b) and a <= c and d <= b for c, d in loops)]


SCALAR_MATH = re.compile(r"^v?(add|sub|mul|div|max|min|sqrt|f(n?m(add|sub)\d*))s[sdh]$")
PACKED_MATH = re.compile(r"^v?(add|sub|mul|div|max|min|sqrt|fn?m(add|sub)\d*)p[sdh]$|^v?p(add|sub|mul|max|min)|^vp?dp|^v?(and|andn|or|xor)p[sd]$"
                         r"|^v?cmp\w*p[sd]|^v?cvt\w*(ps|pd|dq|ph)|^v?round(p|scalep)|^vr(ndscale|ange|educe)p|^v?p(and|or|xor|sll|srl|sra|cmp|blend)|^v?blend")
TO_STACK = re.compile(r"^[XYZ]MMWORD PTR \[rsp[^\]]*\],[xyz]mm")  # rbp is a register like others here


# A spill is a value of the loop that is put on the stack. What the loop only fetches from there is invariant: weights of a window, say,
# that are more than there are registers; that costs the load that it would cost anyway. Longer bodies than this are no loops over a
# reduction but windows whose steps are all unrolled (depthwise convolutions), or rows: a quarter of their instructions may spill.
MICRO_KERNEL, REST = {"x86-64-v4": 64, WITH_BYTES: 64, "x86-64-v3": 48}, 0.25


def faults_of_loop(body, cpu):
    """What is wrong with an innermost loop; numbers that an address depends on are nobody's arithmetic."""
    scalar = [i for i in body if SCALAR_MATH.match(i.name)]
    packed = [i for i in body if PACKED_MATH.match(i.name)]
    spills = [i for i in body if TO_STACK.search(i.operands)]
    if scalar and not packed:
        yield f"computes element by element ({scalar[0].name} at {scalar[0].at:x})"
    if len(spills) > (REST * len(body) if len(body) > MICRO_KERNEL[cpu] else 0):
        yield f"puts vectors on the stack ({spills[0].name} {spills[0].operands} at {spills[0].at:x}; {len(spills)} such)"


def loops():
    seen = 0
    cases = [(s, cpu) for s in subjects() for cpu in ("x86-64-v4", "x86-64-v3")]
    cases += [(s, WITH_BYTES) for s in subjects(QUANTISED)]
    for (name, model, shapes), cpu in cases:
        of_bytes = 0
        for kernel, code in functions(compile_for(cpu, name, model, shapes)).items():
            for body in innermost_loops(code):
                seen += 1
                of_bytes += any(i.name == OF_BYTES for i in body)
                for fault in faults_of_loop(body, cpu):
                    bad.append(f"{name} for {cpu}: {kernel}: loop at {body[0].at:x} of {len(body)} instructions {fault}")
        if name in QUANTISED:
            expect(of_bytes > 3, f"{name} for {cpu}: {of_bytes} loops with {OF_BYTES}")
    expect(seen > 0, "no loop was found in any kernel")


# ---- CPUs

BEYOND = {  # CPU -> what its code must not hold
    "x86-64": re.compile(r"\b[yz]mm\d|\bk[0-7]\b"),
    "x86-64-v3": re.compile(r"\bzmm\d|\bk[0-7]\b|\b[xy]mm(1[6-9]|2\d|3[01])\b"),
}
WIDEST = {"x86-64": "xmm", "x86-64-v3": "ymm", "x86-64-v4": "zmm"}


def cpus():
    for name, model, shapes in subjects()[:2]:
        for cpu, widest in WIDEST.items():
            artefact = compile_for(cpu, name, model, shapes)
            wide = 0
            for kernel, code in functions(artefact).items():
                for i in code:
                    if cpu in BEYOND and BEYOND[cpu].search(i.operands):
                        bad.append(f"{name} for {cpu}: {kernel}: {i.name} {i.operands} at {i.at:x} is beyond it")
                        break
                    if cpu == "x86-64" and i.name.startswith("v"):
                        bad.append(f"{name} for {cpu}: {kernel}: {i.name} at {i.at:x} is beyond it")
                        break
                    wide += widest in i.operands
            expect(wide > 0, f"{name} for {cpu}: {widest} registers are never used")
            needs = json.loads((artefact / "program.json").read_text())["target"]["features"]
            expect(("avx512f" in needs) == (cpu == "x86-64-v4") and ("fma" in needs) == (cpu != "x86-64"), f"{name} for {cpu}: says it needs {needs}")


shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)
{"loops": loops, "cpus": cpus}[CHECK]()
print("\n".join(bad) or f"code {CHECK}: ok")
sys.exit(bool(bad))
