"""Text classifiers with layers of BERT-base, for bench/rewrite.py: SavedModels with random weights, of products as a tf.Module writes
them (`bert_module`), and of Keras' MultiHeadAttention, which are Einsum (`bert_keras`).

Inputs are ids and a mask, i32[batch,sequence], both sizes open. Weights are embeddings of 8192 words and 512 places, and 4 layers of 768
numbers and 12 heads: a third of BERT-base.

    build/venv/bin/python bench/transformer_classifiers.py FOLDER NAME..."""

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from keras import layers

import tensorflow as tf

WORDS, PLACES, WIDTH, HEADS, DEPTH, CLASSES = 8192, 512, 768, 12, 4, 8
LENGTH = 128  # of the sequences that are timed


class Dense(tf.Module):
    def __init__(self, random, *shape):
        super().__init__()
        self.kernel = tf.Variable(random.normal(0, shape[0] ** -0.5, shape).astype(np.float32))
        self.bias = tf.Variable(np.zeros(shape[1], np.float32))

    def __call__(self, x):
        return tf.nn.bias_add(tf.tensordot(x, self.kernel, 1), self.bias)


class Normalization(tf.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.offset = tf.Variable(tf.ones([WIDTH])), tf.Variable(tf.zeros([WIDTH]))

    def __call__(self, x):
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, self.offset, self.scale, 1e-12)


class Layer(tf.Module):
    def __init__(self, random):
        super().__init__()
        self.projections = [Dense(random, WIDTH, WIDTH) for _ in range(4)]
        self.wide, self.narrow = Dense(random, WIDTH, 4 * WIDTH), Dense(random, 4 * WIDTH, WIDTH)
        self.norms = [Normalization(), Normalization()]

    def __call__(self, x, hidden):
        shape = tf.shape(x)
        split = lambda y: tf.transpose(
            tf.reshape(y, [shape[0], shape[1], HEADS, WIDTH // HEADS]), [0, 2, 1, 3]
        )
        query, key, value = (split(projection(x)) for projection in self.projections[:3])
        scores = tf.matmul(query, key, transpose_b=True) * (WIDTH // HEADS) ** -0.5 + hidden
        mixed = tf.transpose(tf.nn.softmax(scores) @ value, [0, 2, 1, 3])
        x = self.norms[0](x + self.projections[3](tf.reshape(mixed, shape)))
        return self.norms[1](x + self.narrow(tf.nn.gelu(self.wide(x))))


class Classifier(tf.Module):
    def __init__(self):
        super().__init__()
        random = np.random.default_rng(0)
        self.words = tf.Variable(random.normal(0, 1, (WORDS, WIDTH)).astype(np.float32))
        self.places = tf.Variable(random.normal(0, 1, (PLACES, WIDTH)).astype(np.float32))
        self.norm, self.layers = Normalization(), [Layer(random) for _ in range(DEPTH)]
        self.pool, self.head = Dense(random, WIDTH, WIDTH), Dense(random, WIDTH, CLASSES)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name) for name in ("ids", "mask")])
    def serve(self, ids, mask):
        x = self.norm(tf.gather(self.words, ids) + self.places[: tf.shape(ids)[1]])
        hidden = (1.0 - tf.cast(mask, tf.float32)[:, None, None, :]) * -1e4
        for layer in self.layers:
            x = layer(x, hidden)
        return {"class": tf.nn.softmax(self.head(tf.tanh(self.pool(x[:, 0]))))}


def bert_module(path: str) -> None:
    module = Classifier()
    tf.saved_model.save(module, path, {"serving_default": module.serve})


class Places(layers.Layer):
    def build(self, shape):
        self.places = self.add_weight(shape=(PLACES, WIDTH), initializer="random_normal", name="places")

    def call(self, x):
        return x + self.places[: tf.shape(x)[1]]


def bert_keras(path: str) -> None:
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), dtype="int32", name="ids")
    mask = keras.Input((None,), dtype="int32", name="mask")
    x = layers.LayerNormalization()(Places()(layers.Embedding(WORDS, WIDTH)(ids)))
    seen = keras.ops.expand_dims(keras.ops.cast(mask, "bool"), 1)
    for _ in range(DEPTH):
        attention = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)
        x = layers.LayerNormalization()(x + attention(x, x, attention_mask=seen))
        wide = layers.Dense(4 * WIDTH, "gelu")(x)
        x = layers.LayerNormalization()(x + layers.Dense(WIDTH)(wide))
    pooled = layers.Dense(WIDTH, "tanh")(x[:, 0])
    model = keras.Model([ids, mask], layers.Dense(CLASSES, "softmax")(pooled))
    model.export(path, verbose=False)


BUILDERS = {"bert_module": bert_module, "bert_keras": bert_keras}


def inputs() -> dict[str, np.ndarray]:
    """Inputs of one sequence, whose last quarter is hidden."""
    random = np.random.default_rng(1)
    mask = np.ones((1, LENGTH), np.int32)
    mask[:, LENGTH * 3 // 4 :] = 0
    return {"ids": random.integers(0, WORDS, (1, LENGTH), np.int32), "mask": mask}


def make(name: str, folder: pathlib.Path) -> None:
    """Writes the model and its inputs (as scripts/make_tensorflow_models.py does), unless they are there."""
    if not (folder / f"{name}.inputs.npz").exists():
        folder.mkdir(parents=True, exist_ok=True)
        BUILDERS[name](str(folder / name))
        np.savez(
            folder / f"{name}.inputs.npz",
            **{f"serving_default/{label}": value for label, value in inputs().items()},
        )


if __name__ == "__main__":
    for name in sys.argv[2:]:
        make(name, pathlib.Path(sys.argv[1]))
