#!/usr/bin/env python3
"""A plan of Tenon in the forms that two other run times read. An example: copy it, change it.

  export_plan.py ARTEFACT tflm [--pool NAME] [-o FILE]
      The metadata buffer `OfflineMemoryAllocation` of TensorFlow Lite Micro, as little-endian int32: version (1), subgraph
      (0), number of tensors, then the offset of each tensor in the arena. One arena is one pool: tensors that live
      elsewhere get -1, which leaves them to the run time.
  export_plan.py ARTEFACT executorch [-o FILE]
      JSON, per tensor the memory id (pool number + 1; 0 is the program's own) and the offset that ExecuTorch keeps in
      AllocationDetails; offsets are split into low and high 32 bits as there. Beside it the bytes of each memory.

Tensors stand in the order of their value ids. ARTEFACT is a folder with request.json and plan.json, as `tenon compile`
writes it."""
import argparse
import json
import pathlib
import struct
import sys


def tensors(folder):
    """(value id, name, pool number, offset) of every value, ordered by id; and the pools of the plan."""
    request = json.loads((folder / "request.json").read_text())
    plan = json.loads((folder / "plan.json").read_text())
    number = {p["id"]: k for k, p in enumerate(plan["pools"])}
    slots = {s["token"]: (number[s["pool"]], s["offset"]) for s in plan["slots"]}
    rows = []
    for token in request["tokens"]:
        pool, at = slots[token["name"]]
        for v in token.get("values", []):
            rows.append((v["id"], v["name"], pool, at + v.get("offset", 0)))
    return sorted(rows), plan["pools"]


def tflm(folder, pool_name):
    rows, pools = tensors(folder)
    names = [p["id"] for p in pools]
    if pool_name not in names:
        sys.exit(f"{folder}: the plan has no pool '{pool_name}'; it has {', '.join(names)}")
    arena = names.index(pool_name)
    offsets = [at if pool == arena else -1 for _, _, pool, at in rows]
    if any(at >= 1 << 31 for at in offsets):
        sys.exit(f"{folder}: an offset does not fit into 31 bits, which is all that the format has")
    return struct.pack(f"<{3 + len(offsets)}i", 1, 0, len(offsets), *offsets)


def executorch(folder):
    rows, pools = tensors(folder)
    return json.dumps({
        "non_const_buffer_sizes": [0] + [p["peak"] for p in pools],
        "tensors": [{"name": name, "memory_id": pool + 1, "memory_offset_low": at & 0xFFFFFFFF, "memory_offset_high": at >> 32}
                    for _, name, pool, at in rows]}, indent=1).encode() + b"\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("artefact", type=pathlib.Path)
    p.add_argument("format", choices=["tflm", "executorch"])
    p.add_argument("--pool", default="ram", help="the pool that is the arena (tflm)")
    p.add_argument("-o", "--output", type=pathlib.Path)
    a = p.parse_args()
    data = tflm(a.artefact, a.pool) if a.format == "tflm" else executorch(a.artefact)
    if a.output:
        a.output.write_bytes(data)
    else:
        sys.stdout.buffer.write(data)


if __name__ == "__main__":
    main()
