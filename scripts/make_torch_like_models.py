#!/usr/bin/env python3
"""Writes small ONNX models that look like what PyTorch exports today, without PyTorch.

    build/venv/bin/python scripts/make_torch_like_models.py [FOLDER]

Every model below is its text in ONNX's own notation plus random weights (fixed seed); ONNX Runtime must run it, for
several sizes of its symbolic dimensions, and its outputs must depend on its inputs.
"""

import argparse
import dataclasses
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

SEED = 20
SIZES = ({"batch": 1, "seq": 6}, {"batch": 3, "seq": 9})  # what the symbolic dimensions are bound to


@dataclasses.dataclass
class Model:
    """`weights`: name -> shape of a random float32 weight, or an array. `ids`: name -> end of the range of an integer
    input; other integer inputs are 0 and 1."""

    text: str
    weights: dict = dataclasses.field(default_factory=dict)
    ids: dict = dataclasses.field(default_factory=dict)
    external_data: bool = False


MODELS = {}

# x.view(b, 3, 4, h * w).transpose(2, 3), back again, flattened and through a Linear. Older exports read one size by
# Shape, Gather, Unsqueeze; newer ones by Shape with start and end.
MODELS["shape_arithmetic"] = Model(
    """
    <ir_version: 10, opset_import: ["": 18]>
    main (float[batch, 12, 4, 6] x) => (float[batch, 5] y, int64[2] flat_shape)
    <int64 zero = {0}, int64 two = {2}, int64[1] axis0 = {0}, int64[1] three = {3}, int64[1] four = {4},
     int64[1] minus1 = {-1}>
    {
        shape = Shape (x)
        b = Gather <axis = 0> (shape, zero)
        h = Gather <axis = 0> (shape, two)
        w_1 = Shape <start = 3, end = 4> (x)
        b_1 = Unsqueeze (b, axis0)
        h_1 = Unsqueeze (h, axis0)
        hw_1 = Mul (h_1, w_1)
        heads_shape = Concat <axis = 0> (b_1, three, four, hw_1)
        heads = Reshape (x, heads_shape)
        swapped = Transpose <perm = [0, 1, 3, 2]> (heads)
        scaled = Mul (swapped, scale)
        merged = Transpose <perm = [0, 1, 3, 2]> (scaled)
        flat_shape = Concat <axis = 0> (b_1, minus1)
        flat = Reshape <allowzero = 1> (merged, flat_shape)
        width = Shape <start = 1> (flat)
        width_f = Cast <to = 1> (width)
        root = Sqrt (width_f)
        normal = Div (flat, root)
        y = Gemm <transB = 1> (normal, weight, bias)
    }
    """,
    {"scale": (4,), "weight": (5, 288), "bias": (5,)},
)

# A causal mask and a padding mask, expanded as torch.expand is exported (where the wanted size is -1, take 1), and a bias
# sliced from a larger one, like position biases.
MODELS["attention_masks"] = Model(
    """
    <ir_version: 10, opset_import: ["": 18]>
    main (int64[batch, seq] ids, int64[batch, seq] attention_mask)
        => (float[batch, 1, seq, seq] scores, bool[batch, 1, seq, seq] mask)
    <int64 zero = {0}, int64 one = {1}, int64[1] axis0 = {0}, int64[1] axis1 = {1}, int64[1] one_1 = {1},
     int64[2] axes12 = {1, 2}, int64[2] axes01 = {0, 1}, int64[2] axes23 = {2, 3}, int64[2] zeros2 = {0, 0},
     int64 minus1 = {-1}, float lowest = {-10000}, float nothing = {0}>
    {
        shape = Shape (ids)
        b = Gather <axis = 0> (shape, zero)
        s = Gather <axis = 0> (shape, one)
        b_1 = Unsqueeze (b, axis0)
        s_1 = Unsqueeze (s, axis0)
        square = Concat <axis = 0> (s_1, s_1)
        filled = ConstantOfShape <value = float[1] {-10000}> (square)
        position = Range (zero, s, one)
        rows = Unsqueeze (position, axis1)
        later = Less (rows, position)
        causal_2 = Where (later, filled, nothing)
        causal = Unsqueeze (causal_2, axes01)

        wanted = Concat <axis = 0> (b_1, one_1, s_1, s_1)
        wanted_rank = Shape (wanted)
        ones = ConstantOfShape <value = int64[1] {1}> (wanted_rank)
        minus_ones = Mul (ones, minus1)
        keeps = Equal (wanted, minus_ones)
        sizes = Where (keeps, ones, wanted)
        padding_4 = Unsqueeze (attention_mask, axes12)
        padding = Expand (padding_4, sizes)
        is_padding = Equal (padding, zero)
        is_later = Less (causal, nothing)
        mask = Or (is_padding, is_later)

        larger = Expand (big_bias, sizes_of_big)
        bias = Slice (larger, zeros2, square, axes23)
        query = Gather <axis = 0> (table, ids)
        key = Transpose <perm = [0, 2, 1]> (query)
        product_3 = MatMul (query, key)
        product = Unsqueeze (product_3, axis1)
        biased = Add (product, bias)
        scores = Where (mask, lowest, biased)
    }
    """,
    {"table": (50, 8), "big_bias": (1, 1, 1, 16), "sizes_of_big": np.array([1, 1, 16, 16], np.int64)},
    {"ids": 50},
)

# torch.chunk and split: equal parts, a smaller last part (10 = 3 + 3 + 3 + 1), and given sizes; then a gated unit.
MODELS["split"] = Model(
    """
    <ir_version: 10, opset_import: ["": 18]>
    main (float[batch, 10, 6] x)
        => (float[batch, 10, 3] gated, float[batch, 3, 6] sum, float[batch, 1, 6] last, float[batch, 10, 2] rest)
    <int64[3] sizes = {1, 3, 2}>
    {
        left, right = Split <axis = 2, num_outputs = 2> (x)
        gate = Sigmoid (right)
        gated = Mul (left, gate)
        p, q, r, last = Split <axis = 1, num_outputs = 4> (x)
        sum = Sum (p, q, r)
        first, middle, rest = Split <axis = -1> (x, sizes)
    }
    """
)

# nn.Upsample and F.interpolate: fixed scales, fixed sizes, and sizes taken from another tensor as in feature pyramids.
MODELS["resize"] = Model(
    """
    <ir_version: 10, opset_import: ["": 18]>
    main (float[batch, 3, 5, 7] x, float[batch, 3, 8, 9] larger)
        => (float[batch, 3, 10, 14] nearest_scaled, float[batch, 3, 8, 4] nearest_sized,
            float[batch, 3, 10, 21] linear_scaled, float[batch, 3, 9, 13] linear_aligned,
            float[batch, 3, 8, 9] linear_as_larger)
    <float[4] twice = {1, 1, 2, 2}, float[4] stretched = {1, 1, 2, 3}, int64[2] size = {8, 4},
     int64[2] aligned_size = {9, 13}, int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}>
    {
        nearest_scaled = Resize <
            mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"
        > (x, , twice)
        nearest_sized = Resize <
            mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor", axes = [2, 3]
        > (x, , , size)
        linear_scaled = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (x, , stretched)
        linear_aligned = Resize <
            mode = "linear", coordinate_transformation_mode = "align_corners", axes = [2, 3]
        > (x, , , aligned_size)
        shape = Shape (x)
        kept = Slice (shape, zero, two)
        larger_shape = Shape (larger)
        taken = Slice (larger_shape, two, four)
        as_larger = Concat <axis = 0> (kept, taken)
        enlarged = Resize <
            mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel", cubic_coeff_a = -0.75
        > (x, , , as_larger)
        linear_as_larger = Add (enlarged, larger)
    }
    """
)

MODELS["normalizations"] = Model(
    """
    <ir_version: 10, opset_import: ["": 21]>
    main (float[batch, seq, 16] x, float[batch, 12, 5, 5] image)
        => (float[batch, seq, 16] exact, float[batch, seq, 16] tanh, float[batch, 12, 5, 5] grouped)
    {
        normal = LayerNormalization <axis = -1, epsilon = 0.00001> (x, gamma, beta)
        hidden = MatMul (normal, weight)
        exact = Gelu (hidden)
        no_offset = LayerNormalization <axis = 2, epsilon = 0.000001> (x, gamma)
        tanh = Gelu <approximate = "tanh"> (no_offset)
        groups = GroupNormalization <num_groups = 4, epsilon = 0.00001> (image, channel_gamma, channel_beta)
        sigmoid = Sigmoid (groups)
        grouped = Mul (groups, sigmoid)
    }
    """,
    {"gamma": (16,), "beta": (16,), "weight": (16, 16), "channel_gamma": (12,), "channel_beta": (12,)},
)

MODELS["attention"] = Model(
    """
    <ir_version: 10, opset_import: ["": 18]>
    main (float[batch, seq, 32] x, int64[batch, seq] attention_mask) => (float[batch, seq, 32] y)
    <int64[4] to_heads = {0, 0, 4, 8}, int64[3] from_heads = {0, 0, 32}, int64[2] axes12 = {1, 2},
     float root = {2.828427}, float one = {1}, float lowest = {-10000}>
    {
        q_linear = MatMul (x, q_weight)
        q_flat = Add (q_bias, q_linear)
        q_split = Reshape (q_flat, to_heads)
        q = Transpose <perm = [0, 2, 1, 3]> (q_split)
        k_linear = MatMul (x, k_weight)
        k_flat = Add (k_bias, k_linear)
        k_split = Reshape (k_flat, to_heads)
        k = Transpose <perm = [0, 2, 3, 1]> (k_split)
        v_linear = MatMul (x, v_weight)
        v_flat = Add (v_bias, v_linear)
        v_split = Reshape (v_flat, to_heads)
        v = Transpose <perm = [0, 2, 1, 3]> (v_split)
        mask_f = Cast <to = 1> (attention_mask)
        mask_4 = Unsqueeze (mask_f, axes12)
        inverted = Sub (one, mask_4)
        mask = Mul (inverted, lowest)
        product = MatMul (q, k)
        scores = Div (product, root)
        masked = Add (scores, mask)
        weights = Softmax <axis = -1> (masked)
        context = MatMul (weights, v)
        together = Transpose <perm = [0, 2, 1, 3]> (context)
        merged = Reshape (together, from_heads)
        o_linear = MatMul (merged, o_weight)
        o_flat = Add (o_bias, o_linear)
        y = Add (x, o_flat)
    }
    """,
    {f"{name}_{kind}": shape for name in "qkvo" for kind, shape in (("weight", (32, 32)), ("bias", (32,)))},
)

# nn.LSTM(6, 8), then bidirectional; batch first, so the exporter transposes. Initial states are zeros made at run time.
MODELS["lstm"] = Model(
    """
    <ir_version: 10, opset_import: ["": 18]>
    main (float[batch, seq, 6] x) => (float[batch, seq, 16] y, float[2, batch, 8] h_n, float[2, batch, 8] c_n)
    <int64[1] one = {1}, int64[1] two = {2}, int64[1] eight = {8}, int64[1] axis1 = {1}, int64[3] together = {0, 0, -1}>
    {
        by_time = Transpose <perm = [1, 0, 2]> (x)
        b = Shape <start = 0, end = 1> (x)
        state_shape = Concat <axis = 0> (one, b, eight)
        h_0 = ConstantOfShape <value = float[1] {0}> (state_shape)
        y_directions, h_1, c_1 = LSTM <hidden_size = 8> (by_time, w, r, bias, , h_0, h_0)
        y_1 = Squeeze (y_directions, axis1)
        states_shape = Concat <axis = 0> (two, b, eight)
        h_00 = Expand (initial, states_shape)
        y_2, h_n, c_n = LSTM <hidden_size = 8, direction = "bidirectional"> (y_1, w2, r2, bias2, , h_00, h_00)
        y_last = Transpose <perm = [2, 0, 1, 3]> (y_2)
        y = Reshape (y_last, together)
    }
    """,
    {
        "w": (1, 32, 6),
        "r": (1, 32, 8),
        "bias": (1, 64),
        "w2": (2, 32, 8),
        "r2": (2, 32, 8),
        "bias2": (2, 64),
        "initial": (2, 1, 8),
    },
)

# nn.GRU multiplies by the reset gate after the linear part, which ONNX calls linear_before_reset.
MODELS["gru"] = Model(
    """
    <ir_version: 10, opset_import: ["": 18]>
    main (float[seq, batch, 6] x) => (float[seq, batch, 16] y, float[2, batch, 8] h_n)
    <int64[1] axis1 = {1}, int64[3] together = {0, 0, -1}>
    {
        y_directions, h_1 = GRU <hidden_size = 8, linear_before_reset = 1> (x, w, r, bias)
        y_1 = Squeeze (y_directions, axis1)
        y_2, h_n = GRU <hidden_size = 8, linear_before_reset = 1, direction = "bidirectional"> (y_1, w2, r2, bias2)
        y_last = Transpose <perm = [0, 2, 1, 3]> (y_2)
        y = Reshape (y_last, together)
    }
    """,
    {"w": (1, 24, 6), "r": (1, 24, 8), "bias": (1, 48), "w2": (2, 24, 8), "r2": (2, 24, 8), "bias2": (2, 48)},
)

# The exporter keeps library functions as functions of the model: one calls another, one takes an attribute.
MODELS["local_function"] = Model(
    """
    <ir_version: 10, opset_import: ["": 18, "pkg.torch": 1]>
    main (float[batch, 8] x) => (float[batch, 4] y)
    {
        hidden = pkg.torch.linear_silu (x, weight1, bias1)
        scaled = pkg.torch.scale <factor = 1.5> (hidden)
        y = pkg.torch.linear_silu (scaled, weight2, bias2)
    }
    <opset_import: ["": 18], domain: "pkg.torch">
    silu (x) => (y)
    {
        sigmoid = Sigmoid (x)
        y = Mul (x, sigmoid)
    }
    <opset_import: ["": 18, "pkg.torch": 1], domain: "pkg.torch">
    linear_silu (x, weight, bias) => (y)
    {
        linear = Gemm <transB = 1> (x, weight, bias)
        y = pkg.torch.silu (linear)
    }
    <opset_import: ["": 18], domain: "pkg.torch">
    scale <factor> (x) => (y)
    {
        f = Constant <value_float: float = @factor> ()
        like = CastLike (f, x)
        y = Mul (x, like)
    }
    """,
    {"weight1": (6, 8), "bias1": (6,), "weight2": (4, 6), "bias2": (4,)},
)

MODELS["external_data"] = Model(
    """
    <ir_version: 10, opset_import: ["": 18]>
    main (float[batch, 64] x) => (float[batch, 16] y)
    {
        hidden = Gemm <transB = 1> (x, weight1, bias1)
        positive = Relu (hidden)
        y = Gemm <transB = 1> (positive, weight2, bias2)
    }
    """,
    {"weight1": (96, 64), "bias1": (96,), "weight2": (16, 96), "bias2": (16,)},
    external_data=True,
)

# Both bodies read values from outside; the loop carries a value, collects one per turn, and runs seq times.
MODELS["control_flow"] = Model(
    """
    <ir_version: 10, opset_import: ["": 18]>
    main (float[batch, seq, 8] x) => (float[batch, 8] y, float[seq, batch, 8] each)
    <int64 zero = {0}, int64 one = {1}, bool go = {1}>
    {
        hidden = MatMul (x, weight)
        mean = ReduceMean <keepdims = 0> (hidden)
        nothing = Constant <value = float {0}> ()
        positive = Greater (mean, nothing)
        chosen = If (positive) <
            then_branch = then_graph () => (float[batch, seq, 8] a) { a = Relu (hidden) },
            else_branch = else_graph () => (float[batch, seq, 8] c) { n = Neg (hidden) c = Sigmoid (n) }
        >
        shape = Shape (x)
        turns = Gather <axis = 0> (shape, one)
        first = Gather <axis = 1> (chosen, zero)
        last, each = Loop (turns, go, first) <
            body = loop_graph (int64 i, bool go_in, float[batch, 8] state)
                => (bool go_out, float[batch, 8] next, float[batch, 8] out)
            {
                go_out = Identity (go_in)
                now = Gather <axis = 1> (chosen, i)
                mixed = MatMul (state, recurrent)
                sum = Add (mixed, now)
                next = Tanh (sum)
                out = Mul (next, now)
            }
        >
        y = Add (last, bias)
    }
    """,
    {"weight": (8, 8), "recurrent": (8, 8), "bias": (8,)},
)


def build_model(model, seed):
    """The ModelProto of `model`; weights come from `seed`, scaled so that a layer keeps the size of its input."""
    random = np.random.default_rng(seed)
    proto = onnx.parser.parse_model(model.text)
    proto.producer_name = "make_torch_like_models"
    for name, weight in model.weights.items():
        if isinstance(weight, tuple):
            fan_in = weight[-1] if len(weight) > 1 else 1
            weight = random.standard_normal(weight, np.float32) / np.float32(np.sqrt(fan_in))
        proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, name))
    return proto


def write_model(proto, path, external_data):
    """Writes NAME.onnx and, for external data, NAME.onnx.data next to it."""
    location = path.name + ".data"
    (path.parent / location).unlink(missing_ok=True)  # onnx would append to it
    if external_data:
        onnx.save(proto, path, save_as_external_data=True, location=location, size_threshold=1024)
    else:
        onnx.save(proto, path)
    onnx.checker.check_model(path, full_check=True)


def random_inputs(session, sizes, ids, random):
    """Name -> array for every input, the symbolic dimensions bound to `sizes`."""
    inputs = {}
    for value in session.get_inputs():
        shape = [sizes.get(dimension, dimension) for dimension in value.shape]
        if value.type == "tensor(int64)":
            inputs[value.name] = random.integers(0, ids.get(value.name, 2), shape)
        else:
            inputs[value.name] = random.standard_normal(shape, np.float32)
    return inputs


def check_model(path, model):
    """Raises RuntimeError unless ONNX Runtime runs the file, every declared dimension is met, and each output that is
    not a shape depends on the inputs."""
    random = np.random.default_rng(SEED)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for sizes in SIZES:
        first, second = (
            session.run(None, random_inputs(session, sizes, model.ids, random)) for _ in range(2)
        )
        for value, a, b in zip(session.get_outputs(), first, second):
            want = tuple(sizes.get(dimension, dimension) for dimension in value.shape)
            if a.shape != want:
                raise RuntimeError(f"{path.name}: {value.name} has the shape {a.shape}, want {want}")
            if not np.isfinite(a).all():
                raise RuntimeError(f"{path.name}: {value.name} is not finite")
            if np.array_equal(a, b) and not value.name.endswith("shape"):
                raise RuntimeError(f"{path.name}: {value.name} does not depend on the inputs")


def main():
    build = pathlib.Path(__file__).resolve().parent.parent / "build"
    default = build / "models" / "torch_like"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", nargs="?", type=pathlib.Path, default=default, help="default: build/models/torch_like"
    )
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, model) in enumerate(MODELS.items()):
        path = folder / f"{name}.onnx"
        try:
            proto = build_model(model, SEED + number)
            write_model(proto, path, model.external_data)
            check_model(path, model)
        except Exception as failure:
            sys.exit(f"error: {name}: {failure}")
        print(f"{name}: {' '.join(sorted({node.op_type for node in proto.graph.node}))}", flush=True)


if __name__ == "__main__":
    main()
