"""Models in 8 bits, by ONNX Runtime's own tool."""

import numpy as np
import onnx
from onnxruntime import quantization


def save_quantized(real, quantized, shape, deviation):
    """A model with one input in 8 bits, calibrated by normal numbers. Weights have 7 bits: with 8, ONNX Runtime's sums of two
    products saturate on processors without VNNI (its documentation of quantization)."""
    random = np.random.default_rng(2)
    name = onnx.load(real).graph.input[0].name
    samples = [{name: random.normal(0, deviation, shape).astype(np.float32)} for _ in range(4)]

    class Samples(quantization.CalibrationDataReader):
        def get_next(self):
            return samples.pop() if samples else None

    quantization.quantize_static(real, quantized, Samples(), reduce_range=True, per_channel=True)
    return quantized
