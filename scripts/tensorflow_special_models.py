"""Builders of make_tensorflow_models.py: strings and images as files, frozen graphs, a custom operator.

As in tensorflow_networks.py: a builder writes to `path` and returns {signature: draw}.
"""

import pathlib
import subprocess

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from tensorflow.python.framework import convert_to_constants

import make_models
from tensorflow_layers import Convolution, Dense, batches, save, weight

CUSTOM_OP_SOURCE = (
    pathlib.Path(__file__).resolve().parent.parent / "tests/conformance/tensorflow_custom_op.cc"
)
WORDS = "the quick brown fox jumps over a lazy dog while seven old sailors count bright stars above calm water".split()


def draw_texts(random, count=4):
    """Sentences of known and unknown words, of different lengths."""
    words = [*WORDS, "Zebra", "naïve"]
    return np.array([" ".join(random.choice(words, random.integers(2, 15))).encode() for _ in range(count)])


def draw_jpeg(random):
    """A JPEG file of random patches, 160 x 200."""
    patches = random.integers(0, 256, (20, 25, 3), np.uint8)
    return tf.io.encode_jpeg(np.kron(patches, np.ones((8, 8, 1), np.uint8)), quality=90).numpy()


def decode(data):
    """What MobileNetV2 takes, from a JPEG file."""
    image = tf.image.resize(tf.io.decode_jpeg(data, channels=3), [224, 224])
    return image[None] / 127.5 - 1


def build_jpeg_classifier(path):
    """JPEG files to the best five classes and their places: decode, resize, MobileNetV2, top_k."""
    random = np.random.default_rng(8)
    images = [np.concatenate([decode(draw_jpeg(random)) for _ in range(8)])]
    network = make_models.build_classifier("mobilenetv2")
    make_models.randomize(network)
    make_models.calibrate(network, images)
    make_models.calibrate_head(network, [images])

    @tf.function(input_signature=[tf.TensorSpec([1], tf.string, "files")])
    def classify(files):
        best = tf.nn.top_k(tf.nn.softmax(network(decode(files[0]), training=False)), 5)
        return {"probabilities": best.values, "classes": best.indices}

    def draw(random):
        """A file whose best six logits are far apart: two correct runtimes put them in the same order."""
        while True:
            file = draw_jpeg(random)
            if np.diff(np.sort(network(decode(file), training=False).numpy()[0])[-6:]).min() > 0.01:
                return {"files": np.array([file])}

    save(path, {"serving_default": classify}, weights=[variable.value for variable in network.variables])
    return {"serving_default": draw}


def build_text_classifier(path):
    """Sentences to classes: TextVectorization, Embedding, LSTM, Dense, all of Keras."""
    vectorize = layers.TextVectorization(max_tokens=100, output_sequence_length=12)
    vectorize.adapt(WORDS)
    text = keras.Input((), dtype="string", name="text")
    vectors = layers.Embedding(100, 32, keras.initializers.RandomNormal(stddev=1.0))(vectorize(text))
    model = keras.Model(
        text,
        layers.Dense(6, "softmax", kernel_initializer=keras.initializers.VarianceScaling(9.0))(
            layers.LSTM(64)(vectors)
        ),
    )
    make_models.randomize(model)
    model.export(path, verbose=False)
    return {"serving_default": lambda random: {"text": draw_texts(random)}}


def build_text_table(path):
    """Sentences to classes by a vocabulary in a file (an asset) and the mean of ragged embeddings."""
    random = np.random.default_rng(9)
    vocabulary = path.with_name(f"{path.name}.vocabulary.txt")
    vocabulary.write_text("\n".join(WORDS) + "\n")
    whole_line, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    file = tf.lookup.TextFileInitializer(str(vocabulary), tf.string, whole_line, tf.int64, number)
    table = tf.lookup.StaticVocabularyTable(file, num_oov_buckets=4)
    vectors, kernel = (
        tf.Variable(weight(random, len(WORDS) + 4, 32) * 5),
        tf.Variable(weight(random, 32, 6) * 3),
    )

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def classify(text):
        words = tf.strings.split(tf.strings.lower(text))
        numbers = words.with_flat_values(table.lookup(words.flat_values))
        means = tf.reduce_mean(
            tf.ragged.map_flat_values(lambda ids: tf.gather(vectors, ids), numbers), axis=1
        )
        joined = tf.strings.reduce_join(words, 1, separator="_")
        return {
            "probabilities": tf.nn.softmax(means @ kernel),
            "words": words.row_lengths(),
            "joined": joined,
        }

    save(path, {"serving_default": classify}, table=table, weights=[vectors, kernel])
    vocabulary.unlink()
    return {"serving_default": lambda random: {"text": draw_texts(random)}}


def compile_custom_op(library):
    """The operator library of tests/conformance/tensorflow_custom_op.cc, against the wheel's headers."""
    include, framework = tf.sysconfig.get_include(), tf.sysconfig.get_lib()
    flags = [
        "-std=c++17",
        "-O2",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        f"-I{include}",
        f"-L{framework}",
        "-l:libtensorflow_framework.so.2",
    ]
    subprocess.run(["c++", str(CUSTOM_OP_SOURCE), "-o", str(library), *flags], check=True)


def build_custom_op(path):
    """An operator from a user's library between convolutions; the library is next to the model."""
    library = path.with_name(f"{path.name}.so")
    compile_custom_op(library)
    squashed_cube = tf.load_op_library(str(library)).squashed_cube
    random = np.random.default_rng(10)
    draw = batches(image=(2, 16, 16, 4))
    x = draw(random)["image"]
    first = Convolution(random, x, 16)
    second = Convolution(random, squashed_cube(x=first(x), scale=0.5), 8)

    @tf.function(input_signature=[tf.TensorSpec([None, 16, 16, 4], tf.float32, "image")])
    def run(image):
        return {"features": tf.nn.relu(second(squashed_cube(x=first(image), scale=0.5)))}

    save(path, {"serving_default": run}, layers=[first, second])
    return {"serving_default": draw}


def build_frozen(path):
    """A convolutional network as a frozen graph of TensorFlow 2."""
    random = np.random.default_rng(11)
    draw = batches(image=(2, 32, 32, 3))
    x, convolutions = draw(random)["image"], []
    for filters in (16, 24, 32):
        convolutions.append(Convolution(random, x, filters))
        x = tf.nn.max_pool2d(tf.nn.relu(convolutions[-1](x)), 3, 2, "SAME")
    last = Dense(random, tf.reduce_mean(x, [1, 2]), 10)

    @tf.function(input_signature=[tf.TensorSpec([None, 32, 32, 3], tf.float32, "image")])
    def run(image):
        x = image
        for layer in convolutions:
            x = tf.nn.max_pool2d(tf.nn.relu(layer(x)), 3, 2, "SAME")
        return tf.nn.softmax(last(tf.reduce_mean(x, [1, 2])), name="probabilities")

    frozen = convert_to_constants.convert_variables_to_constants_v2(run.get_concrete_function())
    path.write_bytes(frozen.graph.as_graph_def().SerializeToString())
    return {"main": draw}


def build_frozen_v1(path):
    """A frozen graph of TensorFlow 1: placeholders, a while loop and a condition of Enter, Exit, Switch and Merge."""
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
            v1.set_random_seed(12)
            x, turns = v1.placeholder(tf.float32, [None, 24], "x"), v1.placeholder(tf.int32, [], "turns")
            unit = v1.initializers.variance_scaling(1.0)
            recurrent = v1.get_variable("recurrent", [24, 24], initializer=unit, use_resource=False)
            kernel = v1.get_variable("kernel", [24, 8], initializer=unit, use_resource=False)
            state = v1.while_loop(
                lambda i, _: i < turns, lambda i, s: (i + 1, tf.tanh(s @ recurrent + x)), [0, x]
            )[1]
            chosen = v1.cond(
                tf.reduce_mean(state) > 0, lambda: tf.nn.relu(state), lambda: tf.nn.sigmoid(state)
            )
            tf.nn.softmax(chosen @ kernel, name="probabilities")
            session.run(v1.global_variables_initializer())
            frozen = v1.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), ["probabilities"]
            )
    finally:
        v1.enable_control_flow_v2()
    path.write_bytes(frozen.SerializeToString())
    return {
        "main": lambda random: {
            "x": random.standard_normal((3, 24), np.float32),
            "turns": np.array(random.integers(3, 9), np.int32),
        }
    }
