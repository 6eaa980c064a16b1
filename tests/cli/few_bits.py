"""Products by weights of 4 and 8 bits in blocks: they run in our kernels, give what ONNX Runtime and the reference kernels
compute, and programs are as small as the weights.

Covers: src/translate/ onnxruntime.cc
src/passes/ fold_constants.cc translated.cc
src/graph/ op_table_quantization.cc
backends/halide/canonicalize/ few_bits.cc
backends/halide/ target.cc
"""

import ml_dtypes
import numpy as np
import pytest
from cli_models import TensorProto, call_json, error_of, helper, save

TYPES = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}


def save_nbits(
    path, rows, depth, columns, bits, block, /, *, zeros=True, bias=False, dtype=np.float32, **changed
):
    """y = x w + bias, with w of a MatMulNBits; `changed` replaces attributes, or by arrays the constants w, s and z."""
    random = np.random.default_rng(depth + columns + bits)
    blocks = -(-depth // block)
    constants = {
        "w": random.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8),
        "s": random.uniform(0.01, 0.02, columns * blocks).astype(dtype),
    }
    if zeros:
        constants["z"] = random.integers(0, 256, columns * ((blocks * bits + 7) // 8)).astype(np.uint8)
    if bias:
        constants["b"] = random.normal(size=columns).astype(dtype)
    attributes = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    for name, value in changed.items():
        (constants if name in constants else attributes)[name] = value
    inputs = ["x", "w", "s", "z" if zeros else "", "", "b"][: 6 if bias else 4 if zeros else 3]
    return save(
        path,
        [helper.make_node("MatMulNBits", inputs, ["y"], "product", domain="com.microsoft", **attributes)],
        [("x", TYPES[dtype], [rows, depth])],
        [("y", TYPES[dtype], [rows, columns])],
        list(constants.items()),
        opsets=[("", 21), ("com.microsoft", 1)],
        checked=False,
    )


NBITS = {
    "bits4-block16": (3, 64, 24, 4, 16, {}),
    "bits4-block32-part-of-a-block-odd-columns": (1, 100, 33, 4, 32, {"bias": True}),
    "bits4-block128-no-zeros": (9, 256, 40, 4, 128, {"zeros": False}),
    "bits4-odd-depth": (2, 45, 17, 4, 16, {}),
    "bits8-block32": (1, 96, 35, 8, 32, {}),
    "bits8-block16-part-of-a-block": (6, 77, 33, 8, 16, {"zeros": False, "bias": True}),
    "bits4-f16": (2, 96, 40, 4, 32, {"dtype": np.float16, "bias": True}),
    "bits4-open-rows": ("rows", 72, 30, 4, 32, {"bias": True}),
}


@pytest.mark.parametrize("case", NBITS.values(), ids=NBITS.keys())
def test_products_are_ours_and_right(tmp_path, case):
    *sizes, options = case
    model, program = save_nbits(tmp_path / "nbits.onnx", *sizes, **options), tmp_path / "nbits.so"
    report = call_json("compile", model, "-o", program, "--fallback", "none")
    assert [region["target"] for region in report["regions"]] == ["halide@cpu"]
    for framework in ("onnxruntime", "reference"):
        assert call_json("check", program, "--against", framework)["ok"], framework


def save_dequantized(path, dtype, shape, block, axis, node, *, scales=None, numbers=np.float32, **attributes):
    """y = x w, where w is dequantized from integers of a type of NumPy's or ml_dtypes'; `scales` is the shape of the scales."""
    random = np.random.default_rng(4)
    bits = 4 if "4" in np.dtype(dtype).name else 8
    low, high = (-(1 << bits - 1), 1 << bits - 1) if "u" not in np.dtype(dtype).name else (0, 1 << bits)
    if scales is None:
        scales = [-(-size // block) if i == axis else size for i, size in enumerate(shape)]
    across = attributes.get("transB", 0)
    return save(
        path,
        [
            helper.make_node(
                "DequantizeLinear",
                ["w", "s", "z"],
                ["d"],
                "dequantize",
                axis=axis,
                **({"block_size": block} if block else {}),
            ),
            helper.make_node(node, ["x", "d"], ["y"], "product", **attributes),
        ],
        [("x", TYPES[numbers], [2, shape[1 if across else 0]])],
        [("y", TYPES[numbers], [2, shape[0 if across else 1]])],
        [
            ("w", random.integers(low, high, shape).astype(dtype)),
            ("s", random.uniform(0.01, 0.02, scales).astype(numbers)),
            ("z", random.integers(low, high, scales).astype(dtype)),
        ],
        opsets=[("", 21)],
        checked=False,
    )


DEQUANTIZED = {
    "u4-blocks": (ml_dtypes.uint4, [512, 300], 32, 0, "MatMul", {}),
    "i4-blocks-transposed": (ml_dtypes.int4, [300, 512], 64, 1, "Gemm", {"transB": 1}),
    "i4-columns": (ml_dtypes.int4, [512, 300], 0, 1, "MatMul", {"scales": [300]}),
    "u8-blocks": (np.uint8, [512, 300], 32, 0, "MatMul", {}),
    "i8-columns": (np.int8, [512, 300], 0, 1, "MatMul", {"scales": [300]}),
    "i4-blocks-f16": (ml_dtypes.int4, [512, 300], 32, 0, "MatMul", {"numbers": np.float16}),
}


@pytest.mark.parametrize("case", DEQUANTIZED.values(), ids=DEQUANTIZED.keys())
def test_programs_are_as_small_as_the_weights(tmp_path, case):
    dtype, shape, block, axis, node, options = case
    model, program = tmp_path / "dequantized.onnx", tmp_path / "dequantized.so"
    save_dequantized(model, dtype, shape, block, axis, node, **options)
    report = call_json("compile", model, "-o", program, "--fallback", "none")
    assert [region["target"] for region in report["regions"]] == ["halide@cpu"]
    bits = 4 if "4" in np.dtype(dtype).name else 8
    scales = 5 * shape[0] * shape[1] // (block or shape[axis ^ 1])
    weights = shape[0] * shape[1] * bits // 8
    assert program.stat().st_size < 1.05 * (weights + scales) + 20000
    assert call_json("check", program, "--against", "reference")["ok"]
    # ONNX Runtime rounds the other factor to 8 bits (its setting session.qdq_matmulnbits_accuracy_level).
    assert call_json("check", program, "--against", "onnxruntime", "--rtol", "0.02")["ok"]


def test_a_large_program_is_as_small_as_the_weights(tmp_path):
    """With 72 MB of numbers, of which a model of 4 bits has a tenth; nothing that a compile asks may make them."""
    model, program = save_nbits(tmp_path / "large.onnx", 1, 4096, 4400, 4, 32), tmp_path / "large.so"
    call_json("compile", model, "-o", program, "--fallback", "none")
    assert program.stat().st_size < 1.1 * 4096 * 4400 * (0.5 + 5 / 32)
    assert call_json("check", program, "--against", "onnxruntime")["ok"]


NO_NBITS = {
    "bits": ({"bits": 3}, "bits=3"),
    "block": ({"block_size": 8}, "block_size=8"),
    "odd-block": ({"block_size": 17}, "block_size=17"),
    "weights": ({"w": np.zeros((24, 4, 7), np.uint8)}, "weights of 672 bytes with 96 scales of f32"),
    "scales": ({"s": np.ones(95, np.float32)}, "weights of 768 bytes with 95 scales of f32"),
    "types": ({"s": np.ones(96, np.float16)}, "weights of 768 bytes with 96 scales of f16"),
    "zeros": ({"z": np.zeros(47, np.uint8)}, "zero points of u8[47]"),
}


@pytest.mark.parametrize("case", NO_NBITS.values(), ids=NO_NBITS.keys())
def test_what_does_not_fit_is_an_error(tmp_path, case):
    changed, want = case
    model = save_nbits(tmp_path / "nbits.onnx", 3, 64, 24, 4, 16, **changed)
    assert want in error_of("compile", model, "-o", tmp_path / "nbits.so", "--fallback", "none")


NO_BLOCKS = {
    "scales": ({"scales": [15, 300]}, "an axis of the scales of blocks: sizes 16 and 15 differ"),
    "rank": ({"scales": [300]}, "scales of blocks have shape [300], x [512,300]"),
    "block": ({"block": -4, "scales": [16, 300]}, "attribute block_size is -4"),
}


@pytest.mark.parametrize("case", NO_BLOCKS.values(), ids=NO_BLOCKS.keys())
def test_blocks_that_do_not_fit_are_an_error(tmp_path, case):
    changed, want = case
    options = {"block": 32, **changed}
    model = tmp_path / "dequantized.onnx"
    save_dequantized(model, ml_dtypes.uint4, [512, 300], options.pop("block"), 0, "MatMul", **options)
    assert want in error_of("compile", model, "-o", tmp_path / "dequantized.so", "--fallback", "none")
