"""SavedModels of many kinds for tests of `intarsia rewrite`: each small, with compute that a program does faster.

A builder writes a model to `path` and returns what it takes, as a Model. A draw gives inputs for a batch.
"""

import dataclasses
import itertools
import os
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from keras import layers

import tensorflow as tf

Draw = Callable[[np.random.Generator, int], dict]


@dataclasses.dataclass
class Model:
    signatures: dict[str, Draw]  # inputs of a signature by name
    methods: dict[str, Callable] = dataclasses.field(
        default_factory=dict
    )  # (arguments, keywords) of a method
    ops: int = 1  # of type Intarsia after the rewriting; -1: some
    random: tuple[str, ...] = ()  # outputs that no two runs share
    tags: tuple[str, ...] = ("serve",)


def draws(**shapes):
    """Inputs of standard normal numbers, of these shapes after the batch."""
    return lambda random, batch: {
        name: random.standard_normal((batch, *shape)).astype(np.float32) for name, shape in shapes.items()
    }


def positional(draw):
    return lambda random, batch: (tuple(draw(random, batch).values()), {})


def spec(*shape, dtype=tf.float32, name=None):
    return tf.TensorSpec([None, *shape], dtype, name)


def weight(*shape):
    random = np.random.default_rng(sum(shape))
    return (random.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


class Dense(tf.Module):
    """Dense layers one after the other, with ReLU but for the last."""

    def __init__(self, *sizes):
        self.kernels = [tf.Variable(weight(a, b)) for a, b in itertools.pairwise(sizes)]
        self.biases = [tf.Variable(weight(1, size)[0]) for size in sizes[1:]]

    def __call__(self, x):
        for number, (kernel, bias) in enumerate(zip(self.kernels, self.biases)):
            x = tf.nn.bias_add(x @ kernel, bias)
            x = tf.nn.relu(x) if number + 1 < len(self.kernels) else x
        return x


class Convolutions(tf.Module):
    """Convolutions 3x3 with ReLU, and the mean over all pixels."""

    def __init__(self, *channels):
        self.kernels = [tf.Variable(weight(3, 3, a, b)) for a, b in itertools.pairwise(channels)]
        self.biases = [tf.Variable(weight(1, size)[0]) for size in channels[1:]]

    def __call__(self, x):
        for kernel, bias in zip(self.kernels, self.biases):
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias))
        return tf.reduce_mean(x, [1, 2])


IMAGE = (16, 16, 3)

# ---- Keras ----


def keras_convolutions(path):
    model = keras.Sequential(
        [
            keras.Input((24, 24, 3), name="image"),
            layers.Conv2D(32, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.Dropout(0.5),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.export(path, verbose=False)
    draw = draws(image=(24, 24, 3))
    return Model({"serving_default": draw}, {"serve": positional(draw)})


def keras_swish(path):
    """An activation whose gradient is a function that captures tensors of the model's."""
    model = keras.Sequential(
        [
            keras.Input((24, 24, 3), name="image"),
            layers.Conv2D(32, 3, activation="swish"),
            layers.Conv2D(64, 3, activation="swish"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )
    model.export(path, verbose=False)
    draw = draws(image=(24, 24, 3))
    return Model({"serving_default": draw}, {"serve": positional(draw)})


def keras_lstm(path):
    model = keras.Sequential(
        [keras.Input((12, 32), name="frames"), layers.LSTM(96), layers.Dense(10, activation="softmax")]
    )
    model.export(path, verbose=False)
    draw = draws(frames=(12, 32))
    return Model({"serving_default": draw}, {"serve": positional(draw)})


def keras_structured(path):
    """A dictionary of inputs and of outputs, saved by TensorFlow with all of the model's methods."""
    image, scale = keras.Input(IMAGE, name="image"), keras.Input((1,), name="scale")
    x = layers.Conv2D(64, 3, activation="relu")(image)
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(64, 3, activation="relu")(x))
    outputs = {"scaled": layers.Dense(8)(x) * scale, "class": layers.Dense(5, activation="softmax")(x)}
    model = keras.Model({"image": image, "scale": scale}, outputs)
    model.export(path, verbose=False)
    draw = draws(image=IMAGE, scale=(1,))
    return Model({"serving_default": draw}, {"serve": lambda random, batch: ((draw(random, batch),), {})})


# ---- tf.Module ----


class TwoSignatures(tf.Module):
    def __init__(self):
        self.trunk, self.head = Convolutions(3, 64, 64), Dense(64, 64, 10)

    @tf.function(input_signature=[spec(*IMAGE, name="image")])
    def features(self, image):
        return {"features": self.trunk(image)}

    @tf.function(input_signature=[spec(*IMAGE, name="image")])
    def classify(self, image):
        return {"class": tf.nn.softmax(self.head(self.trunk(image)))}


def two_signatures(path):
    module, draw = TwoSignatures(), draws(image=IMAGE)
    tf.saved_model.save(module, path, {"features": module.features, "classify": module.classify})
    return Model(
        {"features": draw, "classify": draw}, {"features": positional(draw), "classify": positional(draw)}, 2
    )


class Structured(tf.Module):
    """Nested inputs and outputs, default arguments, and one method with two concrete functions."""

    def __init__(self):
        self.net = Dense(128, 256, 256, 256, 32)

    @tf.function
    def __call__(self, inputs, pair, scale=2.0, twice=False):
        x = self.net(tf.concat([inputs["a"], inputs["more"]["b"]], 1)) * scale + pair[0]
        x = x + x if twice else x
        return {"both": (x, [x[:, 0], pair[1]]), "sizes": {"batch": tf.shape(x)[0]}}

    @tf.function(input_signature=[spec(64, name="a"), spec(64, name="b")])
    def serve(self, a, b):
        made = self({"a": a, "more": {"b": b}}, (tf.reduce_sum(a), b))
        return {"y": made["both"][0], "b_again": made["both"][1][1], "batch": made["sizes"]["batch"]}


def structured(path):
    module = Structured()
    inputs = {"a": spec(64), "more": {"b": spec(64)}}
    pair = (tf.TensorSpec([]), spec(3))
    module.__call__.get_concrete_function(inputs, pair)
    module.__call__.get_concrete_function(inputs, pair, tf.TensorSpec([]), twice=True)
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    draw, three = draws(a=(64,), b=(64,)), draws(c=(3,))

    def nested(random, batch):
        drawn = draw(random, batch)
        return {"a": drawn["a"], "more": {"b": drawn["b"]}}, (np.float32(0.5), three(random, batch)["c"])

    return Model(
        {"serving_default": draw},
        {
            "serve": positional(draw),
            "__call__": lambda random, batch: (nested(random, batch), {}),
            "__call__ twice": lambda random, batch: (
                (*nested(random, batch), np.float32(3)),
                {"twice": True},
            ),
        },
    )


class Trained(tf.Module):
    """Weights that a method changes, which is no signature."""

    def __init__(self):
        self.net = Dense(64, 256, 256, 8)
        self.steps = tf.Variable(0)

    @tf.function(input_signature=[spec(64, name="x")])
    def serve(self, x):
        return {"y": self.net(x)}

    @tf.function(input_signature=[spec(64), spec(8)])
    def train(self, x, wanted):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.serve(x)["y"] - wanted) ** 2)
        variables = [*self.net.kernels, *self.net.biases]
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(0.05 * gradient)
        self.steps.assign_add(1)
        return loss


def trained(path):
    module, draw = Trained(), draws(x=(64,))
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    return Model({"serving_default": draw}, {"serve": positional(draw)})


def trained_by_signature(path):
    """The same where `train` is a signature: the rewriting sees that it changes the weights."""
    module, draw = Trained(), draws(x=(64,))
    module.fixed = Dense(64, 256, 256, 256, 64)

    @tf.function(input_signature=[spec(64, name="x")])
    def serve(x):
        return {"y": module.net(module.fixed(x))}

    @tf.function(input_signature=[spec(64, name="x"), spec(8, name="wanted")])
    def train(x, wanted):
        return {"loss": module.train(x, wanted)}

    tf.saved_model.save(module, path, {"serving_default": serve, "train": train})
    return Model({"serving_default": draw}, ops=-1)


class Counter(tf.Module):
    def __init__(self):
        self.net = Dense(64, 256, 256, 256, 16)
        self.count = tf.Variable(0, dtype=tf.int64)

    @tf.function(input_signature=[spec(64, name="x")])
    def serve(self, x):
        y = self.net(x)
        with tf.control_dependencies([y]):
            count = self.count.assign_add(1)
        return {"y": y, "count": tf.identity(count)}


def counter(path):
    module, draw = Counter(), draws(x=(64,))
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    return Model({"serving_default": draw}, {"serve": positional(draw)})


class Checked(tf.Module):
    """An Assert and a print in the middle of the compute."""

    def __init__(self):
        self.first, self.last = Dense(64, 256, 256, 128), Dense(128, 256, 256, 8)

    @tf.function(input_signature=[spec(64, name="x")])
    def serve(self, x):
        middle = self.first(x)
        tf.debugging.Assert(tf.reduce_max(tf.abs(x)) < 100, ["input too large", tf.reduce_max(x)])
        tf.print("middle has", tf.shape(middle), "numbers")
        return {"y": self.last(tf.nn.relu(middle))}


def checked(path):
    module, draw = Checked(), draws(x=(64,))
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    return Model({"serving_default": draw}, {"serve": positional(draw)})


def texts(random, batch):
    words = [*WORDS, b"unknown", "naïve".encode()]
    return np.array([b" ".join(random.choice(words, 6)) for _ in range(batch)])


WORDS = b"the quick brown fox jumps over a lazy dog while seven old sailors count stars".split()


def vocabulary_of(path):
    file = f"{path}.vocabulary.txt"
    with open(file, "wb") as lines:
        lines.write(b"\n".join(WORDS) + b"\n")
    return file


def static_table(file):
    index = tf.lookup.TextFileIndex
    words = tf.lookup.TextFileInitializer(file, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
    return tf.lookup.StaticHashTable(words, len(WORDS))


class Texts(tf.Module):
    def __init__(self, file):
        self.table = static_table(file)
        self.embedding, self.net = tf.Variable(weight(len(WORDS) + 1, 64)), Dense(64, 256, 256, 256, 10)

    @tf.function(input_signature=[spec(dtype=tf.string, name="text")])
    def serve(self, text):
        words = tf.strings.split(text).to_tensor(shape=[None, 6])
        vectors = tf.reduce_mean(tf.gather(self.embedding, self.table.lookup(words)), 1)
        return {"class": tf.nn.softmax(self.net(vectors)), "first": words[:, 0]}


def table_and_texts(path):
    module = Texts(vocabulary_of(path))
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    os.remove(f"{path}.vocabulary.txt")
    draw = lambda random, batch: {"text": texts(random, batch)}
    return Model({"serving_default": draw}, {"serve": positional(draw)})


class Nested(tf.Module):
    def __init__(self, **options):
        self.net, self.other = Dense(64, 256, 256, 64), Dense(64, 128, 8)
        self.block = tf.function(lambda x: tf.nn.relu(self.net(x)) + x, **options)

    @tf.function(input_signature=[spec(64, name="x")])
    def serve(self, x):
        return {"y": self.other(self.block(self.block(x)))}


def nested(path):
    module, draw = Nested(), draws(x=(64,))
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    return Model({"serving_default": draw}, {"serve": positional(draw)})


def nested_of_xla(path):
    """A function that XLA compiles: it takes no node of ours."""
    module, draw = Nested(jit_compile=True), draws(x=(64,))
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    return Model({"serving_default": draw}, {"serve": positional(draw)})


class Around(tf.Module):
    """Compute before and after something that stays in TensorFlow."""

    def __init__(self, middle):
        self.first, self.last = Dense(64, 256, 256, 256), Dense(256, 256, 256, 8)
        self.middle = middle

    @tf.function(input_signature=[spec(64, name="x")])
    def serve(self, x):
        return {"y": self.last(self.middle(self.first(x)))}


def unsupported_middle(path):
    module, draw = Around(lambda x: tf.linalg.lu(tf.reshape(x, [-1, 16, 16]))[0]), draws(x=(64,))
    flat = module.middle
    module.middle = lambda x: tf.reshape(flat(x), [-1, 256])
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    return Model({"serving_default": draw}, {"serve": positional(draw)}, 2)


class Branches(tf.Module):
    def __init__(self):
        self.small, self.large = Dense(64, 256, 256, 256, 8), Dense(64, 512, 512, 8)

    @tf.function(input_signature=[spec(64, name="x"), tf.TensorSpec([], tf.bool, "large")])
    def serve(self, x, large):
        return {"y": tf.cond(large, lambda: self.large(x), lambda: self.small(x))}


def branches(path):
    module, x = Branches(), draws(x=(64,))
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    draw = lambda random, batch: {**x(random, batch), "large": np.bool_(random.integers(2))}
    return Model({"serving_default": draw}, {"serve": positional(draw)}, 2)


class Loop(tf.Module):
    def __init__(self):
        self.net = Dense(64, 256, 256, 64)

    @tf.function(input_signature=[spec(64, name="x"), tf.TensorSpec([], tf.int32, "turns")])
    def serve(self, x, turns):
        run = lambda i, y: (i + 1, tf.tanh(self.net(y)))
        return {"y": tf.while_loop(lambda i, _: i < turns, run, [0, x])[1]}


def loop(path):
    module, x = Loop(), draws(x=(64,))
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    draw = lambda random, batch: {**x(random, batch), "turns": np.int32(random.integers(1, 6))}
    return Model({"serving_default": draw}, {"serve": positional(draw)})


class Noisy(tf.Module):
    def __init__(self):
        self.net = Dense(64, 512, 512, 512, 8)

    @tf.function(input_signature=[spec(64, name="x")])
    def serve(self, x):
        y = tf.nn.dropout(self.net(x), 0.0)
        noise = tf.random.uniform([4])
        return {"y": y, "noise": noise, "noisy": y + tf.random.uniform(tf.shape(y))}


def noisy(path):
    module, draw = Noisy(), draws(x=(64,))
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    return Model({"serving_default": draw}, {"serve": positional(draw)}, random=("noise", "noisy"))


class Odd(tf.Module):
    """Outputs that are inputs, constants, variables, strings, equal to another or of a composite type."""

    def __init__(self):
        self.net, self.offset = Dense(64, 256, 256, 256, 4), tf.Variable([1.0, 2.0])
        self.names = tf.constant(["one", "two", "three", "four"])

    @tf.function(input_signature=[spec(64, name="x"), tf.TensorSpec([], tf.string, "id")])
    def serve(self, x, id):
        y = self.net(x)
        best = tf.nn.top_k(y, 2)
        return {
            "x": x,
            "id": id,
            "y": y,
            "same": y,
            "fixed": tf.constant([1, 2]),
            "offset": self.offset,
            "name": tf.gather(self.names, best.indices[:, 0]),
            "places": best.indices,
        }

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32, 1)])
    def ragged(self, rows):
        return rows * 2.0

    @tf.function(input_signature=[])
    def nothing(self):
        return {"offset": self.offset * 2.0}


def odd(path):
    module, x = Odd(), draws(x=(64,))
    tf.saved_model.save(module, path, {"serving_default": module.serve, "nothing": module.nothing})
    draw = lambda random, batch: {**x(random, batch), "id": np.array(b"request 1")}
    return Model(
        {"serving_default": draw, "nothing": lambda random, batch: {}},
        {"serve": positional(draw), "nothing": lambda random, batch: ((), {})},
    )


SCALE = tf.constant(255.0)


class AnySize(tf.Module):
    """Images of any size, as bytes, and an input with a default value."""

    def __init__(self):
        self.net = Convolutions(3, 32, 64, 64)

    @tf.function(
        input_signature=[spec(None, None, 3, dtype=tf.uint8, name="image"), tf.TensorSpec([], name="scale")]
    )
    def serve(self, image, scale=SCALE):
        return {"features": self.net(tf.cast(image, tf.float32) / scale)}


def any_size(path):
    module = AnySize()
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    draw = lambda random, batch: {
        "image": random.integers(0, 256, (batch, 8 + 4 * batch, 20, 3), np.uint8),
        "scale": np.float32(100),
    }
    return Model({"serving_default": draw}, {"serve": positional(draw)})


class RunningMean(tf.Module):
    """Reads a variable before and after the signature changes it."""

    def __init__(self):
        self.net, self.mean = Dense(64, 256, 256, 256, 8), tf.Variable(tf.zeros([64]))

    @tf.function(input_signature=[spec(64, name="x")])
    def serve(self, x):
        before = self.net(x - self.mean)
        self.mean.assign(0.5 * self.mean + 0.5 * tf.reduce_mean(x, 0) + tf.reduce_mean(before))
        return {"before": before, "after": self.net(x - self.mean)}


def running_mean(path):
    module, draw = RunningMean(), draws(x=(64,))
    tf.saved_model.save(module, path, {"serving_default": module.serve})
    return Model({"serving_default": draw}, {"serve": positional(draw)}, 2)


KERAS = (keras_convolutions, keras_swish, keras_lstm, keras_structured)
MODULES = (
    two_signatures,
    structured,
    trained,
    trained_by_signature,
    counter,
    checked,
    table_and_texts,
    nested,
    nested_of_xla,
    unsupported_middle,
    branches,
    loop,
    noisy,
    odd,
    any_size,
    running_mean,
)
