#!/bin/sh
# A model file becomes a program, which runs and is compared with ONNX Runtime. Then the same from Python.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/build/venv/bin/python" "$here/make_model.py" "$work/model.onnx"
"$root/build/bin/intarsia" compile "$work/model.onnx" -o "$work/model.so" --shape image=2x3x32x32
"$root/build/bin/intarsia" run "$work/model.so" -o "$work/out"
"$root/build/bin/intarsia" check "$work/model.so"

"$root/build/venv/bin/python" "$here/compile_and_run.py" "$work/model.onnx"
