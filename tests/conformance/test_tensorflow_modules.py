"""A tf.Module that holds Keras layers by attribute: TensorFlow's session loader leaves their variables unset, only the object
graph knows their values. Each such model against what tf.saved_model.load makes of it.

Covers: src/import/ unrestored_variables.cc
src/tensorflow/ object_graph.cc
backends/tensorflow/ restore_variables.cc saved_model.cc
"""

import os
import shutil

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import trackable_object_graph_pb2
from tensorflow_tools import assert_same, save_inputs

from cli_models import call, call_json, error_of

layers = keras.layers
IMAGE, ROW, STEPS = [2, 8, 8, 3], [2, 6], [2, 5, 6]


class Held(tf.Module):
    """Holds parts by the names of its arguments and calls `forward(self, x)`."""

    def __init__(self, shape, forward, dtype=tf.float32, **parts):
        super().__init__()
        self.forward = forward
        for name, part in parts.items():
            setattr(self, name, part)
        self.spec = tf.TensorSpec(shape, dtype, name="x")

    def build(self):
        """The signature, called once, so that all variables are there."""
        signature = tf.function(lambda x: {"y": self.forward(self, x)}, input_signature=[self.spec])
        signature(tf.zeros(self.spec.shape, self.spec.dtype))
        return signature


class Pair(tf.Module):
    """Two layers of the same name in a separate module, whose variables have the same names, too."""

    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(6, name="same"), layers.Dense(6, name="same")

    def __call__(self, x):
        return self.second(tf.nn.relu(self.first(x)))


def chain(*names):
    def forward(module, x):
        for name in names:
            x = getattr(module, name)(x)
        return x

    return forward


def scaled_dense():
    return Held(
        ROW,
        lambda m, x: m.dense(x) * m.scale,
        dense=layers.Dense(3),
        scale=tf.Variable([1.0, 2.0, 3.0], name="scale"),
    )


def tied_embedding():
    return Held(
        [2, 7],
        lambda m, x: tf.matmul(m.words(x), m.words.embeddings, transpose_b=True),
        tf.int32,
        words=layers.Embedding(11, 4),
    )


def list_of_layers():
    module = Held(
        ROW,
        lambda m, x: chain("a", "b")(m, x) + m.several[0](x) * m.named["last"](x),
        a=layers.Dense(6),
        b=layers.Dense(6),
    )
    module.several, module.named = [layers.Dense(6)], {"last": layers.Dense(6)}
    return module


FAMILIES = {
    "two_layers": lambda: Held(ROW, chain("a", "b"), a=layers.Dense(4, activation="relu"), b=layers.Dense(3)),
    "dense_and_variable": scaled_dense,
    "conv_and_norm": lambda: Held(
        IMAGE,
        chain("conv", "norm", "last"),
        conv=layers.Conv2D(4, 3, padding="same"),
        norm=layers.BatchNormalization(),
        last=layers.DepthwiseConv2D(3, strides=2),
    ),
    "layer_norm": lambda: Held(ROW, chain("a", "norm"), a=layers.Dense(5), norm=layers.LayerNormalization()),
    "lstm": lambda: Held(STEPS, chain("cells"), cells=layers.LSTM(3)),
    "gru_steps": lambda: Held(STEPS, chain("cells"), cells=layers.GRU(3, return_sequences=True)),
    "bidirectional": lambda: Held(STEPS, chain("cells"), cells=layers.Bidirectional(layers.LSTM(3))),
    "embedding": lambda: Held(
        [2, 7], chain("words", "last"), tf.int32, words=layers.Embedding(11, 4), last=layers.Dense(2)
    ),
    "tied_embedding": tied_embedding,
    "nested_sequential": lambda: Held(
        ROW,
        chain("body", "last"),
        body=keras.Sequential([layers.Dense(4), keras.Sequential([layers.Dense(5), layers.ReLU()])]),
        last=layers.Dense(2),
    ),
    "shared_layer": lambda: Held(ROW, lambda m, x: m.b(m.a(m.a(x))), a=layers.Dense(6), b=layers.Dense(2)),
    "attention": lambda: Held(STEPS, lambda m, x: m.attend(x, x), attend=layers.MultiHeadAttention(2, 3)),
    "same_names": lambda: Held(ROW, chain("pair", "last"), pair=Pair(), last=layers.Dense(2, name="same")),
    "list_and_dict": list_of_layers,
}


def draw(spec):
    random = np.random.default_rng(5)
    shape = spec.shape.as_list()
    return (
        random.integers(0, 11, shape).astype("int32")
        if spec.dtype == tf.int32
        else random.normal(size=shape).astype("float32")
    )


def layer_variables(module):
    """Variables of Keras layers, which tf.Module does not count among its own."""
    held = tf.nest.flatten([list(vars(one).values()) for one in (module, *module.submodules)])
    return [
        variable.value
        for part in held
        if isinstance(part, layers.Layer)
        for variable in part.weights
        if "seed" not in variable.path
    ]


def save_module(family, folder):
    """The SavedModel, whose variables have distinct values, and an input."""
    module = FAMILIES[family]()
    signature = module.build()
    random = np.random.default_rng(7)
    for variable in layer_variables(module):
        variable.assign(random.uniform(0.1, 1, variable.shape).astype("float32"))
    tf.saved_model.save(module, str(folder), signatures={"serving_default": signature})
    return folder, draw(module.spec)


@pytest.mark.parametrize("family", FAMILIES)
def test_module_with_layers(family, tmp_path):
    model, x = save_module(family, tmp_path / "model")
    expected = {
        name: value.numpy()
        for name, value in tf.saved_model.load(str(model))
        .signatures["serving_default"](x=tf.constant(x))
        .items()
    }
    call("compile", model, "-o", tmp_path / "model.so", "--tune", "off")
    outputs = call_json(
        "run", tmp_path / "model.so", *save_inputs({"x": x}, tmp_path), "-o", tmp_path / "out"
    )["outputs"]
    assert_same({output["name"]: np.load(output["file"]) for output in outputs}, expected, 1e-4)


def test_check_opens_such_a_model_in_tensorflow(tmp_path):
    model, _ = save_module("two_layers", tmp_path / "model")
    report = call_json("check", model, "--tune", "off")
    assert report["ok"] and report["against"] == "tensorflow"


def drop_from_checkpoint(model, is_dropped=lambda key: False, make_objects=None):
    """Writes the model's checkpoint without some tensors; `make_objects` changes the text that says which objects there are."""
    prefix = str(model / "variables/variables")
    checkpoint = tf.train.load_checkpoint(prefix)
    kept = {
        key: checkpoint.get_tensor(key)
        for key in checkpoint.get_variable_to_shape_map()
        if not is_dropped(key)
    }
    if make_objects is not None:
        kept["_CHECKPOINTABLE_OBJECT_GRAPH"] = make_objects(kept["_CHECKPOINTABLE_OBJECT_GRAPH"])
    shutil.rmtree(model / "variables")
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=list(kept),
        shape_and_slices=[""] * len(kept),
        tensors=[tf.constant(value) for value in kept.values()],
    )


def forget_values(text):
    graph = trackable_object_graph_pb2.TrackableObjectGraph.FromString(text)
    for node in graph.nodes:
        del node.attributes[:]
    return graph.SerializeToString()


def test_a_variable_that_is_nowhere_is_named(tmp_path):
    """The checkpoint knows the object, but not its value; or has lost the value; or its objects are damaged."""
    model, _ = save_module("two_layers", tmp_path / "model")
    drop_from_checkpoint(model, make_objects=forget_values)
    message = error_of("compile", model, "-o", tmp_path / "x.so")
    assert "variables/variables': it has no value of the variable '" in message and (
        "(b._kernel)" in message or "(a._kernel)" in message
    )
    model, _ = save_module("two_layers", tmp_path / "model")
    drop_from_checkpoint(model, lambda key: key.startswith("b/"))
    assert "b/_kernel/.ATTRIBUTES/VARIABLE_VALUE" in error_of("compile", model, "-o", tmp_path / "x.so")
    model, _ = save_module("two_layers", tmp_path / "model")
    drop_from_checkpoint(model, make_objects=lambda text: text[:-3])
    assert "'_CHECKPOINTABLE_OBJECT_GRAPH' is damaged" in error_of("compile", model, "-o", tmp_path / "x.so")
