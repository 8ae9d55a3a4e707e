"""Artefacts, taken apart and put together again with something wrong in them."""
import ctypes, json, pathlib, shutil, subprocess

XX = ctypes.CDLL("libxxhash.so.0")


class _Sum(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


XX.XXH3_128bits.restype = _Sum
XX.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def checksum(data):
    s = XX.XXH3_128bits(data, len(data))
    return f"{s.high:016x}{s.low:016x}"


class Artefact:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.program, self.request, self.plan = (
            json.loads((self.folder / f"{name}.json").read_text()) for name in ("program", "request", "plan"))

    def copy(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder, folder)
        return Artefact(folder)

    def seal(self):
        for name in ("program", "request", "plan"):
            (self.folder / f"{name}.json").write_text(json.dumps(getattr(self, name)))
        names = ["program.json", *self.program["objects"], *(p["image"] for p in self.program["pools"] if "image" in p)]
        lines = [f"{checksum((self.folder / n).read_bytes())}  {n}\n" for n in sorted(names)]
        (self.folder / "checksums").write_text("".join(lines))

    # --- what stands where

    def slots(self):
        pool = {p["id"]: i for i, p in enumerate(self.request["pools"])}
        return {s["token"]: (pool[s["pool"]], s["offset"]) for s in self.plan["slots"]}

    def places(self):
        """By value id: pool, offset, bytes."""
        slots = self.slots()
        return {v["id"]: (slots[t["name"]][0], slots[t["name"]][1] + v["offset"], v["size"])
                for t in self.request["tokens"] for v in t["values"]}

    def token(self, name):
        return next(t for t in self.request["tokens"] if t["name"] == name)

    def value(self, id):
        return next(v["name"] for t in self.request["tokens"] for v in t["values"] if v["id"] == id)

    def steps(self):
        """All of them, those of bodies too."""
        def walk(steps):
            for s in steps:
                yield s
                for body in ("then", "else", "body"):
                    yield from walk(s.get(body, []))
        return list(walk(self.program["steps"]))

    def step(self, name):
        return next(s for s in self.steps() if s["name"] == name)

    def kernel(self, step):
        return self.program["kernels"][step["kernel"]]

    def plan_again(self, tenon, planner="auto"):
        """A new plan for the request as it is now, and a program that follows it."""
        before = self.places()
        (self.folder / "request.json").write_text(json.dumps(self.request))
        subprocess.run([tenon, "plan", "solve", self.folder / "request.json", "--planner", planner, "-o", self.folder / "plan.json",
                        "--save-request", self.folder / "canonical.json"], check=True, capture_output=True)
        (self.folder / "canonical.json").replace(self.folder / "request.json")
        self.plan = json.loads((self.folder / "plan.json").read_text())
        self.request = json.loads((self.folder / "request.json").read_text())
        now = self.places()
        kernels = []
        for step in self.steps():
            for arg, value in zip(step["args"], step["values"]):
                if value in now:
                    arg[:3] = ["pool", now[value][0], now[value][1]]
            if step["kind"] != "call":
                continue
            kernel = dict(self.kernel(step))
            if "worker" in kernel:
                kernel["worker"] = [*now[step["values"][-1]][:2], kernel["worker"][2]]
            if kernel not in kernels:
                kernels.append(kernel)
            step["kernel"] = kernels.index(kernel)
        self.program["kernels"] = kernels
        self._move_constants(before, now)
        for pool, plan in zip(self.program["pools"], self.plan["pools"]):
            pool["bytes"] = plan["peak"]
        for io in (*self.program["inputs"], *self.program["outputs"]):
            for value, place in before.items():
                if io.get("place", [])[1:] == list(place):
                    io["place"][1:] = now[value]
                    break
        self.seal()

    def _move_constants(self, before, now):
        constants = {v["id"] for t in self.request["tokens"] for v in t["values"] if v["role"] == "constant"}
        images = {i: (self.folder / p["image"]).read_bytes() for i, p in enumerate(self.program["pools"]) if "image" in p}
        fresh = {i: bytearray(self.plan["pools"][i]["peak"]) for i in images}
        for value in constants:
            (pool, at, n), (to, there, _) = before[value], now[value]
            fresh[to][there:there + n] = images[pool][at:at + n]
        for i, data in fresh.items():
            (self.folder / self.program["pools"][i]["image"]).write_bytes(data)
        self.program["constants"] = sorted(list(now[v]) for v in constants)

    def stand_in(self, step, arg, fault):
        """A kernel of C in front of the true one."""
        kernel = self.kernel(step)
        source = pathlib.Path(__file__).resolve().parent / "stand_in.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.folder / "stand_in.so", source, f"-DKERNEL={kernel['symbol']}",
                        f"-DN_ARGS={len(kernel['args'])}", f"-DARG={arg}", f"-DBYTES={kernel['args'][arg]}", f"-DFAULT_{fault}"], check=True)
        self.program["objects"] = ["stand_in.so", *self.program["objects"]]
        self.seal()
