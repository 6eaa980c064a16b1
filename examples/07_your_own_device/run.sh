#!/bin/sh
# A device of one's own: a plug-in, built outside of this tree against what is installed, runs the convolutions of a model.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$root/build/release" --prefix "$work/installed" --component development >"$work/log"
cmake -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" >"$work/log"
cmake --build "$work/build" >"$work/log"

intarsia=$root/build/bin/intarsia
plugin=$work/build/libtoy_npu.so
"$intarsia" devices --plugin "$plugin"
"$root/build/venv/bin/python" "$here/../01_compile_and_run/make_model.py" "$work/model.onnx"
# --tune off: the convolutions go to the chip, as this one is too slow to win a comparison of measured times.
"$intarsia" compile "$work/model.onnx" -o "$work/model.so" -d cpu,npu=toy_npu:0 --tune off --plugin "$plugin"
"$intarsia" explain "$work/model.so"
"$intarsia" check "$work/model.so" --plugin "$plugin"

# Without the plug-in the program says what is missing.
if "$intarsia" run "$work/model.so" 2>"$work/error"; then exit 1; fi
grep "plug-in 'toy_npu'" "$work/error"
# Another chip of the same kind, and the plug-in from the environment.
INTARSIA_PLUGINS=$plugin "$intarsia" run "$work/model.so" --bind npu=toy_npu:1
