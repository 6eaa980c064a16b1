"""The files that the reader of a page in docs/ has when it begins: pages_files.FILES[PAGE](FOLDER)."""

import os

import numpy as np
import onnx
from cli_models import SOURCE, TensorProto, call, helper, save, save_relu, save_small


def save_classifier(folder):
    """What from_pytorch.md exports, for machines without PyTorch."""
    random = np.random.default_rng(1)
    features = random.standard_normal((16, 3, 3, 3)).astype(np.float32)
    weights = random.standard_normal((10, 16)).astype(np.float32)
    image = random.random((2, 3, 64, 64), np.float32)
    save(
        folder / "classifier.onnx",
        [
            helper.make_node("Conv", ["image", "features"], ["c"], "conv", pads=[1] * 4, strides=[2, 2]),
            helper.make_node("Relu", ["c"], ["r"], "relu"),
            helper.make_node("GlobalAveragePool", ["r"], ["p"], "pool"),
            helper.make_node("Flatten", ["p"], ["f"], "flatten"),
            helper.make_node("Gemm", ["f", "weights"], ["scores"], "classify", transB=1),
        ],
        [("image", TensorProto.FLOAT, ["batch", 3, 64, 64])],
        [("scores", TensorProto.FLOAT, ["batch", 10])],
        [("features", features), ("weights", weights)],
    )
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3)
    )[:, :, ::2, ::2]
    pooled = np.maximum(np.einsum("ncyxhw,ochw->noyx", windows, features), 0).mean((2, 3))
    np.save(folder / "image.npy", image)
    np.save(folder / "expected.npy", pooled @ weights.T)


def save_convolution(path, dtype=TensorProto.FLOAT, shape=(1, 64, 56, 56), then="Relu", scale=1.0):
    weights = np.random.default_rng(0).normal(0, scale, (64, shape[1], 3, 3)).astype(np.float32)
    outputs = [shape[0], 64, *shape[2:]]
    save(
        path,
        [
            helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1] * 4),
            helper.make_node(then, ["c"], ["y"], then.lower()),
        ],
        [("x", dtype, list(shape))],
        [("y", dtype, outputs)],
        [helper.make_tensor("w", dtype, weights.shape, weights.flatten().tolist())],
    )


def save_precisions(folder):
    save_convolution(folder / "conv.onnx")
    save_convolution(folder / "waves.onnx", then="Sin", scale=1e4)
    save_convolution(folder / "f16.onnx", TensorProto.FLOAT16, (1, 3, 16, 16))


def save_to_deploy(folder):
    """The build of this repository and a model."""
    (folder / "build").mkdir()
    (folder / "build/release").symlink_to(os.environ.get("INTARSIA_BUILD", SOURCE / "build/release"))
    save_small(folder / "net.onnx")


def save_quick_gelu(path):
    """An operator that only ONNX Runtime has."""
    save(
        path,
        [helper.make_node("QuickGelu", ["x"], ["y"], "gelu", domain="com.microsoft")],
        [("x", TensorProto.FLOAT, [2, 3])],
        [("y", TensorProto.FLOAT, [2, 3])],
        opsets=(("", 18), ("com.microsoft", 1)),
        checked=False,
    )


def save_troubles(folder):
    small = save_small(folder / "small.onnx").read_bytes()
    (folder / "truncated.onnx").write_bytes(small[:300])
    call("compile", folder / "small.onnx", "-o", folder / "damaged.so", "--tune", "off")
    program = bytearray((folder / "damaged.so").read_bytes())
    (folder / "cut.so").write_bytes(program[:-100])
    program[5000] ^= 1
    (folder / "damaged.so").write_bytes(program)

    external = onnx.load(folder / "small.onnx")
    onnx.save(
        external,
        folder / "external.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    (folder / "weights.bin").unlink()
    save_quick_gelu(folder / "operator.onnx")
    save_relu(folder / "open.onnx", shape=("batch", 4))
    np.save(folder / "x8.npy", np.zeros((8, 4), np.float32))
    np.save(folder / "f64.npy", np.zeros((4, 4)))
    save(
        folder / "embedding.onnx",
        [helper.make_node("Gather", ["table", "ids"], ["y"], "embedding")],
        [("ids", TensorProto.INT64, [1, 4])],
        [("y", TensorProto.FLOAT, [1, 4, 8])],
        [("table", np.ones((100, 8), np.float32))],
    )
    np.save(folder / "ids.npy", np.array([[1, 2, 3, 100]]))


FILES = {
    "deploying.md": save_to_deploy,
    "environment_variables.md": lambda folder: save_small(folder / "small.onnx"),
    "from_keras.md": lambda folder: None,  # it makes its model
    "from_pytorch.md": save_classifier,
    "precision.md": save_precisions,
    "functions.md": lambda folder: None,
    "rewrite.md": lambda folder: None,
    "tensorflow_op.md": lambda folder: None,
    "troubleshooting.md": save_troubles,
}
