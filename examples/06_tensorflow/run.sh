#!/bin/sh
# A Keras model becomes a program: what has a translation is compiled, the one operator that only TensorFlow has goes back to it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/build/venv/bin/python" "$here/make_model.py" "$work"
# Without a framework it does not compile, and the error names the operator.
if "$root/build/bin/intarsia" compile "$work/model" -o "$work/model.so" --fallback none 2>"$work/error"; then exit 1; fi
grep RGBToHSV "$work/error"

# The batch, which the model leaves open, is chosen here. Without --tune off, measured times may hand more to TensorFlow.
"$root/build/bin/intarsia" compile "$work/model" -o "$work/model.so" --shape image=2x48x48x3 --tune off
"$root/build/bin/intarsia" explain "$work/model.so" --nodes | tee "$work/explained"
grep 'RGBToHSV.*tensorflow@cpu' "$work/explained" >/dev/null
grep 'Conv2D.*halide@cpu' "$work/explained" >/dev/null

"$root/build/bin/intarsia" run "$work/model.so" -i image="$work/image.npy" -o "$work/out"
"$root/build/bin/intarsia" check "$work/model.so" -i image="$work/image.npy"

"$root/build/venv/bin/python" "$here/compile_and_run.py" "$work"
