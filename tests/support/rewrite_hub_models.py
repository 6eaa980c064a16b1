"""SavedModels in the forms that TF Hub publishes, for tests of `intarsia rewrite`. As in rewrite_models.py."""

import os

import numpy as np
from rewrite_models import (
    IMAGE,
    WORDS,
    Dense,
    Model,
    draws,
    spec,
    static_table,
    texts,
    vocabulary_of,
    weight,
)

import tensorflow as tf

v1 = tf.compat.v1


class Reusable(tf.train.Checkpoint):
    """What hub.KerasLayer takes: calls with and without `training`, lists of variables, losses of weights."""

    def __init__(self):
        super().__init__()
        self.first, self.last = Dense(64, 256, 256), Dense(256, 256, 256, 8)
        self.mean = tf.Variable(tf.zeros([256]), trainable=False)
        self.trainable_variables = [
            variable for net in (self.first, self.last) for variable in (*net.kernels, *net.biases)
        ]
        self.variables = [*self.trainable_variables, self.mean]
        self.regularization_losses = [self.make_loss(kernel) for kernel in self.first.kernels]

    def make_loss(self, kernel):
        return tf.function(lambda: 1e-4 * tf.nn.l2_loss(kernel), input_signature=[])

    @tf.function
    def __call__(self, x, training=False):
        x = self.first(x)
        if training:
            mean = tf.reduce_mean(x, 0)
            self.mean.assign(0.9 * self.mean + 0.1 * mean)
            x = tf.nn.dropout(x - mean, 0.0)
        else:
            x -= self.mean
        return self.last(tf.nn.relu(x))


def hub_reusable(path):
    module, draw = Reusable(), draws(x=(64,))
    for batch in (None, 4):
        for training in (False, True):
            module.__call__.get_concrete_function(tf.TensorSpec([batch, 64], name="x"), training=training)

    @tf.function(input_signature=[spec(64, name="x")])
    def serve(x):
        return {"default": module(x, training=False)}

    tf.saved_model.save(module, path, {"serving_default": serve})
    call = lambda random, batch: (tuple(draw(random, batch).values()), {"training": False})
    return Model({"serving_default": draw}, {"__call__": call}, ops=-1)


class TextEmbedding(tf.train.Checkpoint):
    """Sentences as the means of their words' vectors, from a vocabulary that is an asset, and dense layers."""

    def __init__(self, file):
        super().__init__()
        self.table, self.net = static_table(file), Dense(64, 256, 256, 128)
        self.embeddings = tf.Variable(weight(len(WORDS) + 1, 64))
        self.variables = self.trainable_variables = [self.embeddings, *self.net.kernels, *self.net.biases]

    @tf.function(input_signature=[spec(dtype=tf.string, name="sentences")])
    def __call__(self, sentences):
        words = tf.strings.split(tf.strings.regex_replace(sentences, "[[:punct:]]", ""), sep=" ").to_sparse()
        words, _ = tf.sparse.fill_empty_rows(words, tf.constant(""))
        found = self.table.lookup(words.values)
        numbers = tf.where(found < 0, tf.constant(len(WORDS), tf.int64), found)
        ids = tf.SparseTensor(words.indices, numbers, words.dense_shape)
        vectors = tf.nn.safe_embedding_lookup_sparse(self.embeddings, ids, combiner="sqrtn")
        return self.net(vectors)


def hub_text_embedding(path):
    module = TextEmbedding(vocabulary_of(path))
    tf.saved_model.save(module, path, {"default": module.__call__})
    os.remove(f"{path}.vocabulary.txt")
    draw = lambda random, batch: {"sentences": texts(random, batch)}
    return Model(
        {"default": draw},
        {"__call__": lambda random, batch: (tuple(draw(random, batch).values()), {})},
        ops=-1,  # times of small parts decide how many
    )


def variable(value, name, **options):
    return v1.get_variable(name, initializer=np.asarray(value, np.float32), use_resource=True, **options)


def features(images, training):
    """Convolutions with batch normalization, as graphs for training and for serving have it."""
    kernel = variable(weight(3, 3, 3, 32), "kernel")
    x = v1.nn.conv2d(images, kernel, 1, "SAME")
    scale, offset = variable(np.ones(32), "gamma"), variable(np.zeros(32), "beta")
    mean = variable(np.full(32, 0.1), "moving_mean", trainable=False)
    variance = variable(np.full(32, 2), "moving_variance", trainable=False)
    if training:
        x, new_mean, new_variance = v1.nn.fused_batch_norm(x, scale, offset)
        for old, new in ((mean, new_mean), (variance, new_variance)):
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, old.assign(0.9 * old + 0.1 * new))
    else:
        x, _, _ = v1.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)
    x = v1.nn.relu(v1.nn.conv2d(v1.nn.relu(x), variable(weight(3, 3, 32, 64), "kernel_2"), 1, "SAME"))
    return tf.reduce_mean(x, [1, 2], name="feature_vector")


def hub_v1_images(path):
    """Graphs of one checkpoint for serving and for training, each with the signatures of image modules."""
    info = v1.saved_model.build_tensor_info
    builder = v1.saved_model.Builder(path)
    for tags, training in ((["serve"], False), (["train"], True)):
        with v1.Graph().as_default(), v1.Session() as session:
            images = v1.placeholder(tf.float32, [None, *IMAGE], "images")
            vector = features(images, training)
            signatures = {
                name: v1.saved_model.build_signature_def(
                    {"images": info(images)}, {"default": info(vector)}, "hub"
                )
                for name in ("default", "image_feature_vector")
            }
            session.run(v1.global_variables_initializer())
            if training:
                builder.add_meta_graph(tags, signatures)
            else:
                builder.add_meta_graph_and_variables(session, tags, signatures)
    builder.save()
    draw = draws(images=IMAGE)
    return Model({"default": draw, "image_feature_vector": draw})


HUB = (hub_reusable, hub_text_embedding, hub_v1_images)
