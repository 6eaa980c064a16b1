"""The transformers of make_models.py, in Keras: a BERT-base encoder and ViT-B/16, with random weights.

Both have 12 layers, 768 channels, 12 heads, and 3072 channels between the two products of a feed-forward part.
"""

import functools
import math
import types

LAYERS, WIDTH, HEADS = 12, 768, 12
BERT_TOKENS, BERT_VOCABULARY, BERT_LABELS = 128, 30522, 16
VIT_IMAGE, VIT_PATCH, VIT_CLASSES = 224, 16, 1000


def build_bert():
    """A BERT-base encoder (post-norm, learned positions, exact GELU) with a small classifier for every token.

    Inputs token_ids and attention_mask (1 = attend), int32[batch, 128]; output logits, float32[batch, 128, 16].
    """
    import keras
    from keras import layers, ops

    custom = layer_classes()
    token_ids = keras.Input((BERT_TOKENS,), dtype="int32", name="token_ids")
    attention_mask = keras.Input((BERT_TOKENS,), dtype="int32", name="attention_mask")
    unit = keras.initializers.RandomNormal(stddev=1.0)
    tokens = layers.Embedding(BERT_VOCABULARY, WIDTH, unit, name="tokens")(token_ids)
    x = normalize(custom.AddPositions(name="positions")(tokens), 1e-12)
    mask = (1.0 - ops.cast(attention_mask, "float32")[:, None, None, :]) * -10000.0
    for i in range(LAYERS):
        x = normalize(x + attention(x, f"layer{i}", mask), 1e-12)
        x = normalize(x + feed_forward(x, f"layer{i}"), 1e-12)
    return keras.Model([token_ids, attention_mask], custom.CenteredDense(BERT_LABELS, name="logits")(x))


def build_vit():
    """ViT-B/16 (pre-norm, class token, learned positions, exact GELU).

    Input image, float32[batch, 224, 224, 3]; output logits, float32[batch, 1000].
    """
    import keras
    from keras import layers, ops

    custom = layer_classes()
    image = keras.Input((VIT_IMAGE, VIT_IMAGE, 3), name="image")
    # Patches of noise are alike on average: the gain makes them differ as much as the positions do.
    gain = keras.initializers.VarianceScaling(4.0)
    patches = layers.Conv2D(WIDTH, VIT_PATCH, VIT_PATCH, kernel_initializer=gain, name="patches")(image)
    tokens = ops.reshape(patches, (-1, (VIT_IMAGE // VIT_PATCH) ** 2, WIDTH))
    x = custom.AddPositions(name="positions")(custom.PrependToken(name="class_token")(tokens))
    for i in range(LAYERS):
        x = x + attention(normalize(x, 1e-6), f"layer{i}")
        x = x + feed_forward(normalize(x, 1e-6), f"layer{i}")
    return keras.Model(image, layers.Dense(VIT_CLASSES, name="logits")(normalize(x, 1e-6)[:, 0]))


def normalize(x, epsilon):
    import keras

    return keras.layers.LayerNormalization(epsilon=epsilon)(x)


def project(x, gain, name):
    """A dense layer of WIDTH channels."""
    import keras

    # One initializer for each layer: a Keras initializer returns the same values every time.
    initializer = keras.initializers.VarianceScaling(gain)
    return layer_classes().CenteredDense(WIDTH, kernel_initializer=initializer, name=name)(x)


def attention(x, name, mask=None):
    """Self-attention over float[batch, token, WIDTH]; `mask` is added to the scores."""
    from keras import ops

    tokens = x.shape[1]

    def split_heads(x):
        return ops.transpose(ops.reshape(x, (-1, tokens, HEADS, WIDTH // HEADS)), (0, 2, 1, 3))

    # Gains above 1: uniform attention would make all tokens alike, weak attention leaves each with only itself.
    query = split_heads(project(x, 3.0, f"{name}_query"))
    key = split_heads(project(x, 3.0, f"{name}_key"))
    value = split_heads(project(x, 1.0, f"{name}_value"))
    scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) / math.sqrt(WIDTH // HEADS)
    scores = scores if mask is None else scores + mask
    context = ops.transpose(ops.matmul(ops.softmax(scores, axis=-1), value), (0, 2, 1, 3))
    return project(ops.reshape(context, (-1, tokens, WIDTH)), 2.25, f"{name}_attention_output")


def feed_forward(x, name):
    hidden = layer_classes().CenteredDense(4 * WIDTH, name=f"{name}_intermediate")(x)
    return project(gelu(hidden), 1.0, f"{name}_output")


def gelu(x):
    """Exact GELU, written out: keras.activations.gelu uses Erfc, which ONNX does not have."""
    from keras import ops

    return 0.5 * x * (1.0 + ops.erf(x * math.sqrt(0.5)))


@functools.cache
def layer_classes():
    """Our own layers, created here because Keras is imported late."""
    import keras
    from keras import ops

    class CenteredDense(keras.layers.Dense):
        """A Dense layer whose pass in training mode sets its bias so that every channel of its output has mean 0: else
        the means of 24 random branches add up, and drown the tokens."""

        def call(self, inputs, training=False):
            outputs = super().call(inputs)
            if training:
                mean = ops.mean(outputs, axis=tuple(range(len(outputs.shape) - 1)))
                self.bias.assign(self.bias - mean)
                outputs = outputs - mean
            return outputs

    class AddPositions(keras.layers.Layer):
        """Adds a vector per position to float[batch, token, channel]."""

        def build(self, input_shape):
            self.positions = self.add_weight(
                shape=input_shape[1:],
                initializer=keras.initializers.RandomNormal(stddev=1.0),
                name="positions",
            )

        def call(self, inputs):
            return inputs + self.positions

    class PrependToken(keras.layers.Layer):
        """Puts one learned token before those of float[batch, token, channel]."""

        def build(self, input_shape):
            self.token = self.add_weight(
                shape=(1, 1, input_shape[-1]),
                initializer=keras.initializers.RandomNormal(stddev=1.0),
                name="token",
            )

        def call(self, inputs):
            return ops.concatenate([ops.repeat(self.token, ops.shape(inputs)[0], axis=0), inputs], axis=1)

    return types.SimpleNamespace(
        CenteredDense=CenteredDense, AddPositions=AddPositions, PrependToken=PrependToken
    )
