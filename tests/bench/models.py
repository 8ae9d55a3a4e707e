#!/usr/bin/env python3
"""Latency of whole models beside ONNX Runtime, interleaved in one run. Usage: models.py [--threads N] [--rounds N] [MODEL...]

Needs TENON_SHARED (default ../shared) for models and the peer's driver, and ORT_DIR (a folder with onnxruntime-node) for the
peer; without the latter only Tenon's own figures are printed. Prints minima and medians over all rounds and their ratio:
below 1, Tenon is faster.
"""
import argparse, json, os, pathlib, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TENON_SHARED", ROOT.parent / "shared"))
TENON = ROOT / "build/release/bin/tenon"
BERT = [a for i, fill in (("input_ids", "randint:0:30522"), ("attention_mask", "const:1"), ("token_type_ids", "const:0"))
        for a in ("--shape", f"{i}=1x128", "--fill", f"{i}={fill}")]
MODELS = {
    "mnist_cntk": ("onnx/mnist_cntk.onnx", []),
    "blazeface_front_128": ("onnx/blazeface_front_128.onnx", []),
    "mobilenetv2": ("gen/mobilenetv2.onnx", ["--shape", "input=1x3x224x224"]),
    "squeezenet_rand": ("gen/squeezenet_rand.onnx", []),
    "resnet50_rand": ("gen/resnet50_rand.onnx", []),
    "ultraface_rfb_320": ("onnx/ultraface_rfb_320.onnx", []),
    "mlp_784_b32": ("gen/mlp_784.onnx", ["--shape", "input=32x784"]),
    "shufflenet_rand": ("gen/shufflenet_rand.onnx", []),
    "fastestdet": ("onnx/fastestdet.onnx", ["--fill", "input.1=uniform:0:1"]),
    "yunet_n_320": ("onnx/yunet_n_320.onnx", ["--fill", "input=uniform:0:255"]),
    "mlsd_320_tiny": ("onnx/mlsd_320x320_tiny.onnx", ["--fill", "input_image_with_alpha:0=uniform:0:255"]),
    "ppocr_det_640": ("onnx/ppocr_det_v4.onnx", ["--shape", "x=1x3x640x640"]),
    "ppocr_cls_48x192": ("onnx/ppocr_cls_v2.onnx", ["--shape", "x=1x3x48x192"]),
    "dtln_1": ("onnx/dtln_1.onnx", ["--fill", "input_2=uniform:0:1"]),
    "dtln_2": ("onnx/dtln_2.onnx", []),
    "silero_vad_v5": ("onnx/silero_vad_v5.onnx", ["--shape", "input=1x512", "--shape", "state=2x1x128", "--fill", "sr=const:16000"], {"sr": 16000}),
    "basic_pitch": ("onnx/basic_pitch_nmp.onnx", ["--shape", "serving_default_input_2:0=1x43844x1"]),
    "magika_v3_3": ("onnx/magika_v3_3.onnx", ["--shape", "bytes=1x2048", "--fill", "bytes=randint:0:257"]),
    "minilm_l6_seq128": ("gen/minilm_l6.onnx", BERT),
    "minilm_l6_dynquant_seq128": ("gen/minilm_l6_dynquant.onnx", BERT),
    "mobilenetv2_qdq": ("gen/mobilenetv2_qdq.onnx", ["--shape", "input=1x3x224x224"]),
    "bilstm_gru_t64": ("gen/bilstm_gru.onnx", ["--shape", "input=64x1x64"]),
}


def options(args, option, without=()):
    """The options of that name, with their values, but for inputs in `without`."""
    return [a for k, f in enumerate(args) if f == option and args[k + 1].rpartition("=")[0] not in without for a in args[k:k + 2]]


def ours(artefact, fills, threads):
    r = subprocess.run([TENON, "run", artefact, *fills, "--json", "--repeat", "100", "--threads", str(threads)], capture_output=True, text=True, check=True)
    return json.loads(r.stdout)["latency_ms"]


def peer(model, args, threads):
    driver = SHARED / "peer/ort_bench.mjs"
    r = subprocess.run(["node", driver, "--model", model, *args, "--threads", str(threads), "--max-time", "3"], capture_output=True, text=True, check=True)
    run = json.loads(r.stdout)["runs"][0]
    if "error" in run:
        sys.exit(f"ONNX Runtime: {run['error']}")
    return {"min": run["min_ms"], "median": run["median_ms"]}


def paths(names, work):
    """name -> file; generated models are made in `work`."""
    if not SHARED.is_dir():
        sys.exit(f"{sys.argv[0]}: no models: set TENON_SHARED")
    gen = pathlib.Path(work) / "gen"
    if any(MODELS[m][0].startswith("gen/") for m in names):
        gen.mkdir(exist_ok=True)
        subprocess.run(["/usr/bin/python3", SHARED / "peer/gen_models.py", gen], check=True, capture_output=True)
    return {m: gen / MODELS[m][0][4:] if MODELS[m][0].startswith("gen/") else SHARED / "models" / MODELS[m][0] for m in names}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("models", nargs="*", default=list(MODELS))
    a = p.parse_args()
    print(f"{'model':24}{'tenon min':>12}{'median':>9}{'peer min':>12}{'median':>9}{'ratio min':>12}{'median':>9}")
    with tempfile.TemporaryDirectory(prefix="tenon-") as work:
        for name, model in paths(a.models, work).items():
            _, args, *fixed = MODELS[name]
            fixed = fixed[0] if fixed else {}
            artefact = pathlib.Path(work) / name
            fix = [a for k, v in fixed.items() for a in ("--set", f"import.fix=[{k}={v}]")]
            subprocess.run([TENON, "compile", model, *options(args, "--shape"), *fix, "-o", artefact], check=True, capture_output=True)
            t, o = [], []
            for _ in range(a.rounds):
                t.append(ours(artefact, options(args, "--fill", fixed), a.threads))
                if "ORT_DIR" in os.environ:
                    o.append(peer(model, args, a.threads))
            best = lambda rows, key: min(r[key] for r in rows)
            line = f"{name:24}{best(t, 'min'):12.3f}{best(t, 'median'):9.3f}"
            if o:
                line += f"{best(o, 'min'):12.3f}{best(o, 'median'):9.3f}{best(t, 'min') / best(o, 'min'):12.2f}{best(t, 'median') / best(o, 'median'):9.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
