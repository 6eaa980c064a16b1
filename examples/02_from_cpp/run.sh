#!/bin/sh
# A C++ project that finds an installed Intarsia with find_package and runs a program. It links only the run half.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/build/venv/bin/python" "$here/../01_compile_and_run/make_model.py" "$work/model.onnx"
"$root/build/bin/intarsia" compile "$work/model.onnx" -o "$work/model.so" --shape image=2x3x32x32

cmake --install "$root/build/release" --prefix "$work/installed" --component development >"$work/log"
cmake -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" >"$work/log"
cmake --build "$work/build" >"$work/log"
"$work/build/classify" "$work/model.so"
