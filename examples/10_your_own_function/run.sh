#!/bin/sh
# Functions of one's own, written with Halide: from Python to the shell, C++ and TensorFlow.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$root/build/venv/bin/python

"$python" "$here/export.py" "$work/functions.so"
"$root/build/bin/intarsia" run "$work/functions.so" --function addone --shape a=7
c++ -std=c++17 -O1 -I "$root/include" "$here/addone.cc" -o "$work/addone" \
    -L "$root/build/release/lib" -lintarsia -Wl,-rpath,"$root/build/release/lib"
"$work/addone" "$work/functions.so"
TF_CPP_MIN_LOG_LEVEL=3 "$python" "$here/in_tensorflow.py" "$work/functions.so"
