#!/bin/sh
# Compiled programs as ops of TensorFlow: a Keras classifier becomes a SavedModel that runs where only TensorFlow is imported.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TF_CPP_MIN_LOG_LEVEL=3

"$root/build/venv/bin/python" "$here/make_models.py" "$work"
# --fallback none: our own code alone. Without --tune off, kernels are chosen by their times.
"$root/build/bin/intarsia" compile "$work/classifier" -o "$work/classifier.so" --fallback none --tune off
"$root/build/bin/intarsia" compile "$work/addone.onnx" -o "$work/addone.so" --fallback none --tune off

# Around the program: a signature, and a Keras model. The SavedModels contain it.
"$root/build/venv/bin/python" "$here/save_service.py" "$work"
rm "$work/classifier.so"
"$root/build/venv/bin/python" "$here/serve.py" "$work"

# The same op in code: eager, in a tf.function, and in one call.
"$root/build/venv/bin/python" "$here/addone.py" "$work/addone.so"
