"""Shared by the builders of make_tensorflow_models.py: layers with calibrated random weights, saving, drawing."""

import numpy as np
import tensorflow as tf


def weight(random, *shape):
    """float32 of variance 1 / fan-in, which keeps the size of what it is multiplied with."""
    return (random.standard_normal(shape, np.float32) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


def batches(**shapes):
    """A draw of standard normal float32 inputs."""
    return lambda random: {name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def save(path, signatures, **tracked):
    """A SavedModel whose module holds `tracked`: variables, tables, layers."""
    module = tf.Module()
    for name, value in tracked.items():
        setattr(module, name, value)
    tf.saved_model.save(module, str(path), signatures=signatures)


def convolve(x, kernel, stride):
    return tf.nn.conv2d(x, kernel, stride, "SAME")


class Convolution(tf.Module):
    """A convolution with bias (NHWC, padding SAME), whose output has variance 1 and mean 0.5 in every channel for
    `sample`, an input: about two thirds of it pass a ReLU."""

    def __init__(self, random, sample, filters, size=3, stride=1):
        kernel = weight(random, size, size, int(sample.shape[-1]), filters)
        output = convolve(sample, kernel, stride).numpy()
        scale = 1 / output.std((0, 1, 2))
        self.kernel = tf.Variable(kernel * scale)
        self.bias = tf.Variable(0.5 - output.mean((0, 1, 2)) * scale)
        self.stride = stride

    def __call__(self, x):
        return tf.nn.bias_add(convolve(x, self.kernel, self.stride), self.bias)


class Dense(tf.Module):
    """A product with bias, whose output has variance 1 and mean 0 over all of `sample`."""

    def __init__(self, random, sample, units):
        kernel = weight(random, int(sample.shape[-1]), units)
        output = np.asarray(sample) @ kernel
        scale = 1 / (output - output.mean(0)).std()
        self.kernel = tf.Variable(kernel * scale)
        self.bias = tf.Variable(-output.mean(0) * scale)

    def __call__(self, x):
        return tf.nn.bias_add(x @ self.kernel, self.bias)
