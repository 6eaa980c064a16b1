#!/bin/sh
# A kernel of one's own for an operator that nobody else has.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cc -O2 -shared -fPIC -fvisibility=hidden -I "$root/include" "$here/kernel.c" -o "$work/libmy_kernels.so" -lm
"$root/build/venv/bin/python" "$here/make_model.py" "$work/model.onnx"

# Without the kernel the compile fails and names the operator.
if "$root/build/bin/intarsia" compile "$work/model.onnx" -o "$work/model.so" 2>"$work/error"; then exit 1; fi
grep SoftThreshold "$work/error"

"$root/build/bin/intarsia" compile "$work/model.onnx" -o "$work/model.so" --kernels "$work/libmy_kernels.so"
"$root/build/bin/intarsia" explain "$work/model.so"
"$root/build/bin/intarsia" run "$work/model.so" -o "$work/out"
