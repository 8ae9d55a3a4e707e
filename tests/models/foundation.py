"""The models that everything is tried on; they stand in TENON_SHARED/models."""

# Name; file below models/, or made by peer/gen_models.py; judged by relative L2 (None: rtol 1e-3, atol 1e-5); inputs that are fixed.
MODELS = [
    ("mnist_cntk", "onnx/mnist_cntk.onnx", None),
    # One of 22 016 elements of this model is so small a difference of large sums that ONNX Runtime itself is 2e-5 away
    # from the result in double precision there; the relative L2 distance is what says whether the outputs agree.
    ("blazeface_front_128", "onnx/blazeface_front_128.onnx", 1e-5),
    ("mobilenetv2", "gen/mobilenetv2.onnx", None),
    ("squeezenet_rand", "gen/squeezenet_rand.onnx", None),
    ("resnet50_rand", "gen/resnet50_rand.onnx", None),
    ("ultraface_rfb_320", "onnx/ultraface_rfb_320.onnx", None),
    ("mlp_784_b32", "gen/mlp_784.onnx", None),
    ("shufflenet_rand", "gen/shufflenet_rand.onnx", None),
    ("fastestdet", "onnx/fastestdet.onnx", None),
    ("yunet_n_320", "onnx/yunet_n_320.onnx", None),
    # Scores next to 0 come out of a sigmoid of large sums: a few of 25 600 are 1e-4 apart.
    ("mlsd_320_tiny", "onnx/mlsd_320x320_tiny.onnx", 2e-3),
    ("ppocr_det_640", "onnx/ppocr_det_v4.onnx", None),
    ("ppocr_cls_48x192", "onnx/ppocr_cls_v2.onnx", None),
    ("dtln_1", "onnx/dtln_1.onnx", None),
    ("dtln_2", "onnx/dtln_2.onnx", None),
    ("silero_vad_v5", "onnx/silero_vad_v5.onnx", None, {"sr": 16000}),  # has another network for another sampling rate
    ("basic_pitch", "onnx/basic_pitch_nmp.onnx", None),
    ("magika_v3_3", "onnx/magika_v3_3.onnx", None),
    ("vespa_dummy_transformer", "onnx/vespa_dummy_transformer.onnx", None),
    ("minilm_l6_seq128", "gen/minilm_l6.onnx", None),
    ("bilstm_gru_t64", "gen/bilstm_gru.onnx", None),
    # Rounding to 8 bits flips where sums differ by less than their tolerance, and grows through random weights.
    ("mobilenetv2_qdq", "gen/mobilenetv2_qdq.onnx", 4e-2),
    ("minilm_l6_dynquant_seq128", "gen/minilm_l6_dynquant.onnx", 1.5e-2),
]
