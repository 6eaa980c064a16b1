"""Builders of make_tensorflow_models.py: networks whose inputs are numbers.

A builder writes a SavedModel or a frozen graph to `path` (its name is the model's) and returns {signature: draw}, where draw(random) makes the inputs
of that signature from a numpy generator. A frozen graph has one signature, `main`.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

import make_models
from tensorflow_layers import Convolution, Dense, batches, save, weight


def build_classifier(path):
    """A keras.applications model with softmax, as `model.export` writes it."""
    model = make_models.build_model(path.name)
    image, logits = model.inputs[0], model.outputs[0]
    size = image.shape[1]
    model = keras.Model(image, keras.layers.Softmax(name="probabilities")(logits))
    model.export(path, verbose=False)
    return {"serving_default": lambda random: {"image": random.random((1, size, size, 3), np.float32)}}


def build_detector_head(path):
    """Convolutions, boxes and scores on a grid, and combined_non_max_suppression."""
    random = np.random.default_rng(1)
    draw = batches(image=(2, 64, 64, 3))
    convolutions, x = [], draw(random)["image"]
    for filters in (16, 32, 32):
        convolutions.append(Convolution(random, x, filters, stride=2))
        x = tf.nn.relu(convolutions[-1](x))
    to_boxes, to_scores = Convolution(random, x, 4 * 4, 1), Convolution(random, x, 4 * 5, 1)
    centers = (np.stack(np.meshgrid(np.arange(8), np.arange(8), indexing="ij"), -1) + 0.5).reshape(
        8, 8, 1, 2
    ) / 8

    @tf.function(input_signature=[tf.TensorSpec([None, 64, 64, 3], tf.float32, "image")])
    def detect(image):
        features = image
        for layer in convolutions:
            features = tf.nn.relu(layer(features))
        offsets = tf.reshape(to_boxes(features), [-1, 8, 8, 4, 4])
        center = tf.constant(centers, tf.float32) + 0.05 * tf.tanh(offsets[..., :2])
        half = 0.1 * tf.exp(0.3 * tf.tanh(offsets[..., 2:]))
        boxes = tf.reshape(tf.concat([center - half, center + half], -1), [-1, 256, 1, 4])
        scores = tf.reshape(tf.sigmoid(2 * to_scores(features) - 7), [-1, 256, 5])
        found = tf.image.combined_non_max_suppression(
            boxes, scores, 5, 12, iou_threshold=0.4, score_threshold=0.2
        )
        return {"boxes": found[0], "scores": found[1], "classes": found[2], "count": found[3]}

    save(path, {"serving_default": detect}, layers=[*convolutions, to_boxes, to_scores])
    return {"serving_default": draw}


def build_recurrent(path):
    """One recurrent layer of Keras over 60 steps, and a Dense layer after it."""
    make = {
        "keras_lstm": lambda: layers.LSTM(96),
        "keras_lstm_steps": lambda: layers.LSTM(64, return_sequences=True),
        "keras_gru": lambda: layers.GRU(128),
        "keras_gru_steps": lambda: layers.GRU(64, return_sequences=True, reset_after=False),
        "keras_bidirectional": lambda: layers.Bidirectional(layers.LSTM(64, return_sequences=True)),
    }[path.name]
    sequence = keras.Input((60, 32), name="sequence")
    model = keras.Model(sequence, layers.Dense(10, name="labels")(make()(sequence)))
    make_models.randomize(model)
    model.export(path, verbose=False)
    return {"serving_default": batches(sequence=(2, 60, 32))}


def build_dynamic_rnn(path):
    """A while loop over time that ends with the longest sequence, which the inputs determine."""
    random = np.random.default_rng(2)
    kernel, recurrent = tf.Variable(weight(random, 16, 48)), tf.Variable(weight(random, 48, 48))
    bias = tf.Variable(random.normal(0, 0.1, 48).astype(np.float32))

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, 16], tf.float32, "sequence"),
            tf.TensorSpec([None], tf.int32, "lengths"),
        ]
    )
    def run(sequence, lengths):
        def step(i, state, steps):
            new = tf.tanh(sequence[:, i] @ kernel + state @ recurrent + bias)
            state = tf.where((i < lengths)[:, None], new, state)
            return i + 1, state, steps.write(i, state)

        end = tf.reduce_max(lengths)
        state = tf.zeros([tf.shape(sequence)[0], 48])
        steps = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[None, 48])
        _, state, steps = tf.while_loop(lambda i, *_: i < end, step, [0, state, steps])
        return {"state": state, "steps": tf.transpose(steps.stack(), [1, 0, 2])}

    def draw(random):
        return {
            "sequence": random.standard_normal((3, 20, 16), np.float32),
            "lengths": random.integers(2, 19, 3, np.int32),
        }

    save(path, {"serving_default": run}, weights=[kernel, recurrent, bias])
    return {"serving_default": draw}


def build_spectral(path):
    """Convolutions around a Fourier transform, and singular values (no vectors: their signs are free)."""
    random = np.random.default_rng(3)
    draw = batches(image=(2, 16, 16, 3))

    def spectrum(x):
        channels_first = tf.transpose(x, [0, 3, 1, 2])
        return tf.transpose(tf.abs(tf.signal.rfft2d(channels_first)), [0, 2, 3, 1])

    def values(x):
        return tf.reshape(tf.linalg.svd(tf.transpose(x, [0, 3, 1, 2]), compute_uv=False), [-1, 4 * 9])

    x = draw(random)["image"]
    first = Convolution(random, x, 8)
    x = spectrum(tf.nn.relu(first(x)))
    second = Convolution(random, x, 4)
    last = Dense(random, values(second(x)), 10)

    @tf.function(input_signature=[tf.TensorSpec([None, 16, 16, 3], tf.float32, "image")])
    def run(image):
        return {"labels": last(values(second(spectrum(tf.nn.relu(first(image))))))}

    save(path, {"serving_default": run}, layers=[first, second, last])
    return {"serving_default": draw}


def build_unique_shapes(path):
    """Outputs whose sizes depend on the data, with dense arithmetic after them."""
    random = np.random.default_rng(4)
    table, kernel = tf.Variable(weight(random, 50, 16) * 7), tf.Variable(weight(random, 16, 24))
    narrow = tf.Variable(weight(random, 8, 12))

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.int64, "ids"), tf.TensorSpec([None, 8], tf.float32, "rows")]
    )
    def run(ids, rows):
        distinct, places, counts = tf.unique_with_counts(ids)
        shared = tf.nn.relu(tf.gather(table, distinct) @ kernel)
        kept = tf.tanh(tf.boolean_mask(rows, tf.reduce_sum(rows, 1) > 0) @ narrow)
        large = tf.where(tf.abs(rows) > 1)
        return {
            "shared": shared,
            "each": tf.gather(shared, places),
            "counts": counts,
            "kept": kept,
            "large": large,
            "large_values": tf.square(tf.gather_nd(rows, large)),
        }

    def draw(random):
        return {"ids": random.integers(0, 50, 30), "rows": random.standard_normal((20, 8), np.float32)}

    save(path, {"serving_default": run}, weights=[table, kernel, narrow])
    return {"serving_default": draw}


def build_ragged_sparse(path):
    """A ragged and a sparse tensor, given by their components, into a dense model."""
    random = np.random.default_rng(5)
    kernel, wide = tf.Variable(weight(random, 16, 32)), tf.Variable(weight(random, 40, 32) * 3)
    last = tf.Variable(weight(random, 64, 6))
    spec = tf.TensorSpec

    @tf.function(
        input_signature=[
            spec([None, 16], tf.float32, "values"),
            spec([None], tf.int64, "row_splits"),
            spec([None, 2], tf.int64, "indices"),
            spec([None], tf.float32, "weights"),
            spec([2], tf.int64, "dense_shape"),
        ]
    )
    def run(values, row_splits, indices, weights, dense_shape):
        ragged = tf.RaggedTensor.from_row_splits(tf.nn.relu(values @ kernel), row_splits)
        sparse = tf.sparse.reorder(tf.SparseTensor(indices, weights, dense_shape))
        mixed = tf.concat([tf.reduce_mean(ragged, 1), tf.sparse.sparse_dense_matmul(sparse, wide)], 1)
        return {
            "labels": tf.nn.softmax(mixed @ last),
            "padded": ragged.to_tensor(-1.0),
            "largest": tf.sparse.reduce_max(sparse, 1),
        }

    def draw(random):
        cells = np.sort(random.choice(4 * 40, 30, False))
        return {
            "values": random.standard_normal((10, 16), np.float32),
            "row_splits": np.array([0, 3, 4, 8, 10]),
            "indices": np.stack([cells // 40, cells % 40], 1),
            "weights": random.random(30, np.float32),
            "dense_shape": np.array([4, 40]),
        }

    save(path, {"serving_default": run}, weights=[kernel, wide, last])
    return {"serving_default": draw}


def build_two_signatures(path):
    """Signatures `encode` and `classify`, which share their weights."""
    random = np.random.default_rng(6)
    draw = batches(image=(2, 16, 16, 3))
    x = draw(random)["image"]
    first = Convolution(random, x, 16, stride=2)
    second = Convolution(random, tf.nn.relu(first(x)), 32, stride=2)

    def features(image):
        return tf.reduce_max(tf.nn.relu6(second(tf.nn.relu(first(image)))), [1, 2])

    last = Dense(random, features(x), 10)
    spec = [tf.TensorSpec([None, 16, 16, 3], tf.float32, "image")]
    encode = tf.function(lambda image: {"code": features(image)}, input_signature=spec)
    classify = tf.function(
        lambda image: {
            "probabilities": tf.nn.softmax(last(features(image))),
            "label": tf.argmax(last(features(image)), 1),
        },
        input_signature=spec,
    )
    save(path, {"encode": encode, "classify": classify}, layers=[first, second, last])
    return {"encode": draw, "classify": draw}


def build_fifty_islands(path):
    """Fifty small convolutions, each followed by BesselI0e, which only TensorFlow knows."""
    random = np.random.default_rng(7)
    draw = batches(image=(1, 12, 12, 8))
    x, convolutions = draw(random)["image"], []
    for _ in range(50):
        convolutions.append(Convolution(random, x, 8))
        x = x + 0.3 * (tf.math.bessel_i0e(convolutions[-1](x)) - 0.5)

    @tf.function(input_signature=[tf.TensorSpec([1, 12, 12, 8], tf.float32, "image")])
    def run(image):
        x = image
        for layer in convolutions:
            x = x + 0.3 * (tf.math.bessel_i0e(layer(x)) - 0.5)
        return {"features": x}

    save(path, {"serving_default": run}, layers=convolutions)
    return {"serving_default": draw}


def build_stateful(path):
    """Counts its calls in a variable: nothing that a compiled program can do, so there is nothing to compare."""
    counter = tf.Variable(0.0, name="counter")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def run(x):
        return {"y": x * counter.assign_add(1.0)}

    save(path, {"serving_default": run}, counter=counter)
    return {}
