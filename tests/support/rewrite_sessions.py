"""Models of TensorFlow 1 for tests of `intarsia rewrite`: SavedModels of sessions, and a frozen graph. As in rewrite_models.py."""

import os

import numpy as np
import rewrite_hub_models
import rewrite_models
from rewrite_models import (
    IMAGE,
    WORDS,
    Convolutions,
    Model,
    draws,
    spec,
    static_table,
    texts,
    vocabulary_of,
    weight,
)
from tensorflow.python.framework import convert_to_constants

import tensorflow as tf

v1 = tf.compat.v1


def layer(x, units, name, resource=True):
    """A dense layer of variables in the default graph."""
    kernel = v1.get_variable(f"{name}_w", initializer=weight(int(x.shape[-1]), units), use_resource=resource)
    bias = v1.get_variable(f"{name}_b", initializer=weight(1, units)[0], use_resource=resource)
    return v1.nn.relu(v1.nn.bias_add(v1.matmul(x, kernel), bias))


def stack(x, name, *sizes, **options):
    for number, units in enumerate(sizes):
        x = layer(x, units, f"{name}_{number}", **options)
    return x


def save_simple(path, resource):
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 64], "x")
        y = tf.identity(stack(x, "net", *[64] * 12, 8, resource=resource), "y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, path, {"x": x}, {"y": y})
    return Model({"serving_default": draws(x=(64,))})


def v1_simple(path):
    return save_simple(path, True)


def v1_reference_variables(path):
    return save_simple(path, False)


def v1_table(path):
    """A table of an asset, which `main_op` initializes."""
    with v1.Graph().as_default(), v1.Session() as session:
        text = v1.placeholder(tf.string, [None], "text")
        table = static_table(vocabulary_of(path))
        words = tf.strings.split(text).to_tensor(shape=[None, 6])
        embedding = v1.get_variable("embedding", initializer=weight(len(WORDS) + 1, 64), use_resource=True)
        vectors = tf.reduce_mean(tf.gather(embedding, table.lookup(words)), 1)
        y = tf.nn.softmax(stack(vectors, "net", 256, 256, 256, 8))
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        builder = v1.saved_model.Builder(path)
        info = v1.saved_model.build_tensor_info
        signature = v1.saved_model.build_signature_def({"text": info(text)}, {"class": info(y)}, "classify")
        assets = v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS)
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": signature},
            assets_collection=assets,
            main_op=v1.tables_initializer(),
        )
        builder.save()
    os.remove(f"{path}.vocabulary.txt")
    return Model({"serving_default": lambda random, batch: {"text": texts(random, batch)}})


def v1_signatures(path):
    """Signatures of one graph, that feed or take what is in the middle of others; and a graph for training."""
    info = v1.saved_model.build_tensor_info
    sign = lambda inputs, outputs: v1.saved_model.build_signature_def(
        {name: info(t) for name, t in inputs.items()}, {name: info(t) for name, t in outputs.items()}, "run"
    )
    with v1.Graph().as_default(), v1.Session() as session:
        x, features = v1.placeholder(tf.float32, [None, 64], "x"), None
        features = stack(x, "trunk", 256, 256, 256)
        given = v1.placeholder_with_default(features, [None, 256], "given")
        y = tf.nn.softmax(stack(given, "head", 256, 256, 8))
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(path)
        signatures = {
            "serving_default": sign({"x": x}, {"y": y}),
            "features": sign({"x": x}, {"features": features}),
            "both": sign({"x": x}, {"features": features, "y": y}),
            "head": sign({"given": given}, {"y": y}),
        }
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.add_meta_graph(["train"], {"train": sign({"x": x}, {"y": y})})
        builder.save()
    x, given = draws(x=(64,)), draws(given=(256,))
    return Model({"serving_default": x, "features": x, "both": x, "head": given}, ops=-1)


def v1_second_output(path):
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 64], "x")
        _, right = tf.split(stack(x, "net", 256, 256, 256, 8), 2, axis=1)
        _, variance = tf.nn.moments(right, 1)
        session.run(v1.global_variables_initializer())
        results = {"right": right, "variance": variance}
        v1.saved_model.simple_save(session, path, {"x": x}, results)
    return Model({"serving_default": draws(x=(64,))})


def v1_control_flow(path):
    """A loop and a condition of Enter, Exit, Switch and Merge after dense layers."""
    v1.disable_control_flow_v2()
    try:
        with v1.Graph().as_default(), v1.Session() as session:
            x, turns = v1.placeholder(tf.float32, [None, 64], "x"), v1.placeholder(tf.int32, [], "turns")
            state = v1.while_loop(
                lambda i, _: i < turns,
                lambda i, s: (i + 1, tf.tanh(s + x)),
                [0, stack(x, "net", 256, 256, 64)],
            )[1]
            chosen = v1.cond(turns > 3, lambda: tf.nn.relu(state), lambda: tf.nn.sigmoid(state))
            y = stack(chosen, "head", 256, 256, 8)
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, path, {"x": x, "turns": turns}, {"y": y})
    finally:
        v1.enable_control_flow_v2()
    x = draws(x=(64,))
    draw = lambda random, batch: {**x(random, batch), "turns": np.int32(random.integers(1, 6))}
    return Model({"serving_default": draw}, ops=2)


def frozen(path):
    """A frozen GraphDef, whose placeholders are its inputs."""
    net, draw = Convolutions(3, 32, 64, 64), draws(image=IMAGE)
    run = tf.function(
        lambda image: tf.identity(net(image), "features"), input_signature=[spec(*IMAGE, name="image")]
    )
    made = convert_to_constants.convert_variables_to_constants_v2(run.get_concrete_function())
    with open(path, "wb") as file:
        file.write(made.graph.as_graph_def().SerializeToString())
    return Model({"main": draw})


SESSIONS = (
    v1_simple,
    v1_reference_variables,
    v1_table,
    v1_signatures,
    v1_second_output,
    v1_control_flow,
)
SAVED_MODELS = {
    builder.__name__: builder
    for builder in (*rewrite_models.KERAS, *rewrite_models.MODULES, *SESSIONS, *rewrite_hub_models.HUB)
}
