"""Calls a program as an op: eagerly, in a tf.function and in one call.

addone.py PROGRAM, of y = x + 1.
"""

import sys

import intarsia.tensorflow
import tensorflow as tf

path = sys.argv[1]
addone = intarsia.tensorflow.Module(path)["main"]
x = tf.constant([10.1, 20.0, 11.2, -30.3])
print("eager:", addone(x).numpy())


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def twice(x):
    return addone(addone(x))


print("tf.function:", twice(x).numpy(), "and of another length:", twice(x[:2]).numpy())
# With the outputs' shape and type, only a run needs the file.
print(
    "call:", intarsia.tensorflow.call(path, "main", [x], output_shape=[None], output_dtype=tf.float32).numpy()
)
print(intarsia.tensorflow.copies())
