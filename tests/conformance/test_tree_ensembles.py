"""TreeEnsembleRegressor and TreeEnsembleClassifier of random trees in our compiler alone against ONNX Runtime's kernels: targets, aggregates,
transforms, base values, labels and types; and what is refused. Our reference kernels agree, too.

Covers: src/base/ decision_trees.cc src/translate/ onnx_trees.cc labels_and_scores.cc
"""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import intarsia

FEATURES, TREES, ROWS = 5, 7, 37
BRANCHES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


class RandomTrees:
    """Trees with splits at small whole numbers, as the elements of the input are. `weights_of` makes the (class, weight) pairs of a leaf."""

    def __init__(self, seed, weights_of, branches=BRANCHES):
        self.random = np.random.default_rng(seed)
        self.weights_of, self.branches = weights_of, branches
        self.nodes, self.weights = [], []

    def add_node(self, tree, depth):
        number = sum(node[0] == tree for node in self.nodes)
        is_leaf = depth == 0 or self.random.random() < 0.15
        mode = "LEAF" if is_leaf else str(self.random.choice(self.branches))
        at = len(self.nodes)
        feature, split = int(self.random.integers(FEATURES)), float(self.random.integers(-3, 4))
        self.nodes.append([tree, number, feature, split, mode, int(self.random.random() < 0.3), 0, 0])
        if is_leaf:
            self.weights += [(tree, number, *pair) for pair in self.weights_of(self.random)]
        else:
            self.nodes[at][6] = self.add_node(tree, depth - 1)
            self.nodes[at][7] = self.add_node(tree, depth - 1)
        return number

    def attributes(self, kind):
        for tree in range(TREES):
            self.add_node(tree, tree % 4)
        names = ("treeids", "nodeids", "featureids", "values", "modes", "missing_value_tracks_true")
        names += ("truenodeids", "falsenodeids")
        lists = {f"nodes_{name}": list(of) for name, of in zip(names, zip(*self.nodes))}
        names = ("treeids", "nodeids", "ids", "weights")
        return lists | {f"{kind}_{name}": list(of) for name, of in zip(names, zip(*self.weights))}


def model_of(op, attributes, dtype, shape):
    outputs = ["y"] if op == "TreeEnsembleRegressor" else ["label", "y"]
    node = helper.make_node(op, ["x"], outputs, "trees", domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)],
        [onnx.ValueInfoProto(name=name) for name in outputs],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def elements(dtype, rows=ROWS):
    random = np.random.default_rng(5)
    x = random.integers(-4, 5, (rows, FEATURES)).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        x[random.random(x.shape) < 0.1] = np.nan
    return x


def expect_equal(tmp_path, op, attributes, dtype=np.float32, atol=1e-5):
    path = tmp_path / "model.onnx"
    onnx.save(model_of(op, attributes, dtype, ["n", FEATURES]), path)
    theirs = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for backend in ("halide", "reference"):
        session = intarsia.compile(path, tune="off", fallback="none", backends=[backend]).load().bind()
        for rows in (ROWS, 1):
            x = elements(dtype, rows)
            want = theirs.run(None, {"x": x})
            for one, other in zip(session.run({"x": x}).values(), want, strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other.reshape(one.shape), rtol=1e-4, atol=atol)


def of_targets(count):
    return lambda random: [(t, random.normal()) for t in range(count)]


def of_one(count, sign=1):
    return lambda random: [(int(random.integers(count)), sign * float(random.uniform(0.01, 1)))]


def regressor(seed, weights_of, **attributes):
    return RandomTrees(seed, weights_of).attributes("target") | attributes


@pytest.mark.parametrize("aggregate", ("SUM", "AVERAGE", "MIN", "MAX"))
@pytest.mark.parametrize("targets", (1, 3))
def test_aggregates(targets, aggregate, tmp_path):
    base = np.linspace(-0.5, 1, targets).tolist()
    attributes = regressor(1, of_targets(targets), n_targets=targets, base_values=base)
    expect_equal(tmp_path, "TreeEnsembleRegressor", attributes | {"aggregate_function": aggregate})


@pytest.mark.parametrize("transform", ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"))
def test_transforms(transform, tmp_path):
    attributes = regressor(2, of_one(3), n_targets=3, post_transform=transform)
    expect_equal(tmp_path, "TreeEnsembleRegressor", attributes)


def test_probits(tmp_path):
    weights = lambda random: [(0, random.uniform(0.02, 0.12))]
    attributes = regressor(3, weights, n_targets=1, post_transform="PROBIT")
    expect_equal(tmp_path, "TreeEnsembleRegressor", attributes, atol=1e-4)


def test_float64(tmp_path):
    expect_equal(tmp_path, "TreeEnsembleRegressor", regressor(4, of_targets(2), n_targets=2), np.float64)


def classifier(seed, weights_of, labels, **attributes):
    return RandomTrees(seed, weights_of).attributes("class") | {"classlabels_int64s": labels} | attributes


@pytest.mark.parametrize("transform", ("NONE", "LOGISTIC", "SOFTMAX"))
@pytest.mark.parametrize("base", (None, [0.5, -0.25, 0.125]))
def test_several_classes(base, transform, tmp_path):
    attributes = classifier(6, of_targets(3), [30, 10, 20], post_transform=transform)
    expect_equal(tmp_path, "TreeEnsembleClassifier", attributes | ({"base_values": base} if base else {}))


@pytest.mark.parametrize("dtype", (np.float64, np.int64, np.int32))
def test_classes_of_other_types(dtype, tmp_path):
    expect_equal(tmp_path, "TreeEnsembleClassifier", classifier(4, of_targets(3), [1, 2, 3]), dtype)


def test_votes(tmp_path):
    expect_equal(tmp_path, "TreeEnsembleClassifier", classifier(7, of_one(4), [3, 1, 2, 0]))


@pytest.mark.parametrize("transform", ("NONE", "LOGISTIC"))
@pytest.mark.parametrize("base", (None, [0.125]))
@pytest.mark.parametrize("is_probability", (False, True))
def test_two_classes(is_probability, base, transform, tmp_path):
    weights = (lambda random: [(0, random.uniform(0, 0.15))]) if is_probability else of_targets(1)
    attributes = classifier(8, weights, [5, 9], post_transform=transform)
    expect_equal(tmp_path, "TreeEnsembleClassifier", attributes | ({"base_values": base} if base else {}))


def damaged(name, place, value):
    def damage(attributes):
        attributes[name] = list(attributes[name])
        attributes[name][place] = value

    return damage


DAMAGES = {
    "successor": (damaged("nodes_truenodeids", 1, 77), "has no node 77"),
    "feature": (damaged("nodes_featureids", slice(None), [FEATURES] * 400), "entries"),
    "mode": (damaged("nodes_modes", 1, "BRANCH"), "mode 'BRANCH'"),
    "loop": (damaged("nodes_truenodeids", 1, 0), "in loops|reached twice"),
    "target": (damaged("target_ids", 0, 9), "none of 2 targets"),
    "leaf": (damaged("target_nodeids", -1, 999), "has no node 999"),
    "base": (lambda attributes: attributes.update(base_values=[1.0]), "1 base_values for 2 targets"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_trees_are_an_error(name, tmp_path):
    damage, message = DAMAGES[name]
    attributes = regressor(4, of_targets(2), n_targets=2)
    damage(attributes)
    onnx.save(model_of("TreeEnsembleRegressor", attributes, np.float32, ["n", FEATURES]), tmp_path / "m.onnx")
    with pytest.raises(intarsia.Error, match=message):
        intarsia.compile(tmp_path / "m.onnx", tune="off", fallback="none", backends=["halide"])


REFUSED = {
    "least of targets without a weight": (
        "TreeEnsembleRegressor",
        regressor(9, of_one(3), n_targets=3, aggregate_function="MIN"),
    ),
    "one target that is transformed": (
        "TreeEnsembleRegressor",
        regressor(9, of_targets(1), post_transform="SOFTMAX"),
    ),
    "weights of both of two classes": ("TreeEnsembleClassifier", classifier(9, of_targets(2), [0, 1])),
    "votes that are not positive": ("TreeEnsembleClassifier", classifier(9, of_one(3, -1), [0, 1, 2])),
    "labels that are strings": (
        "TreeEnsembleClassifier",
        RandomTrees(9, of_targets(3)).attributes("class") | {"classlabels_strings": ["a", "b", "c"]},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, tmp_path):
    op, attributes = REFUSED[name]
    onnx.save(model_of(op, attributes, np.float32, ["n", FEATURES]), tmp_path / "m.onnx")
    with pytest.raises(intarsia.Error, match=op):
        intarsia.compile(tmp_path / "m.onnx", tune="off", fallback="none", backends=["halide"])
    intarsia.compile(tmp_path / "m.onnx", tune="off").load()
