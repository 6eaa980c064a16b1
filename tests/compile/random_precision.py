"""Random graphs of products give with every --precision what the reference backend gives, within its rounding.

Each graph comes from its seed alone; a failure names it: pytest tests/compile/random_precision.py -k seed_17. A precision that
this processor does not have is skipped.

Covers: src/compile/ compile_precision.cc
backends/halide/schedule/ round_factors.cc unfold_taps.cc
"""

import numpy as np
import onnx
import pytest
from cli_models import helper
from random_placement import RandomGraph
from rounds import ROUNDS

import intarsia

BOUNDS = {"bf16": 0.06, "f16": 0.01}  # of the largest element, those of `check`


class GraphOfProducts(RandomGraph):
    """Products and convolutions of sizes that instructions for 16 bits take, and what lies between them."""

    KINDS = (
        "unary",
        "binary",
        "product",
        "product",
        "convolution",
        "convolution",
        "split",
        "reduce",
        "square",
    )

    def shape(self):
        return self.number(1, 40), self.number(16, 90)

    def product(self, name):
        value, (rows, columns) = self.pick()
        width = self.number(8, 90)
        self.scaled("MatMul", name, value, (columns, width), columns, (rows, width))

    def square(self, name):
        """A product of two computed matrices."""
        value, (rows, columns) = self.pick()
        other, (_, width) = self.pick()
        left = self.scaled("MatMul", f"{name}_l", value, (columns, 48), columns, (rows, 48))
        right = self.scaled("MatMul", f"{name}_r", other, (width, 48), width, None)
        turned = f"{name}_turned"
        self.nodes.append(helper.make_node("Transpose", [right], [turned], f"{name}_t", perm=[1, 0]))
        height = next(shape for known, shape in self.values if known == other)[0]
        self.add("MatMul", name, [left, turned], [(rows, height)])

    def scaled(self, op, name, value, shape, depth, result, **attributes):
        """Adds a product whose sums are about as large as its input, and returns its name."""
        weights = self.random.normal(0, depth**-0.5, shape).astype(np.float32)
        self.add(op, name, [value, self.constant(weights)], [result], **attributes)
        if result is None:
            self.values.pop()
        return f"{name}_0"

    def convolution(self, name):
        """Takes the columns as channels of a picture of one row."""
        value, (rows, columns) = self.pick()
        width, taps = self.number(8, 64), self.number(1, 3)
        turned, picture, made = f"{name}_turned", f"{name}_picture", f"{name}_made"
        channels = self.constant(np.array([1, columns, 1, rows], np.int64))
        self.nodes.append(helper.make_node("Transpose", [value], [turned], f"{name}_t", perm=[1, 0]))
        self.nodes.append(helper.make_node("Reshape", [turned, channels], [picture], f"{name}_p"))
        pads = [0, taps // 2, 0, (taps - 1) // 2]
        made = self.scaled(
            "Conv", name, picture, (width, columns, 1, taps), columns * taps, None, pads=pads, strides=[1, 1]
        )
        matrix = self.constant(np.array([width, rows], np.int64))
        self.add("Reshape", f"{name}_m", [made, matrix], [(width, rows)])


@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("seed", range(8 * ROUNDS), ids=lambda seed: f"seed_{seed}")
def test_rounding_is_all_that_differs(seed, precision, tmp_path):
    graph = GraphOfProducts(seed)
    path = tmp_path / "model.onnx"
    onnx.save(graph.model(), path)
    try:
        compiled = intarsia.compile(
            path,
            backends=["halide", "reference"],
            fallback="none",
            tune="off",
            precision=precision,
            optimize="size" if precision == "f16" else "speed",
        )
    except intarsia.Error as error:
        if "precision" not in str(error):
            raise
        pytest.skip(str(error))
    inputs = graph.feed()
    want = intarsia.compile(path, backends=["reference"]).load().bind().run(inputs)
    got = compiled.load().bind().run(inputs)
    assert set(got) == set(want) == {name for name, _ in graph.outputs}
    for name, expected in want.items():
        error = np.abs(got[name] - expected).max() / max(1e-30, np.abs(expected).max())
        assert error < BOUNDS[precision], f"seed {seed}, {name}: {error}"
