"""Runs the functions of a program as ops of TensorFlow."""

import sys

import intarsia.tensorflow
import tensorflow as tf

functions = intarsia.tensorflow.Module(sys.argv[1])


@tf.function
def run(image):
    return functions["addone"](tf.reshape(functions["blur"](image), [-1]))


print(
    "TensorFlow:",
    run(tf.zeros([20, 30])).shape,
    "numbers, each 1:",
    bool(tf.reduce_all(run(tf.zeros([20, 30])) == 1)),
)
