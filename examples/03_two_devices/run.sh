#!/bin/sh
# One model on two devices: the slot `accel` is bound to a real device only when the program is loaded.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/build/venv/bin/python" "$here/../01_compile_and_run/make_model.py" "$work/model.onnx"
"$root/build/bin/intarsia" compile "$work/model.onnx" -o "$work/model.so" -d cpu,accel=sim:0 --pin 'relu=halide@accel' --pin 'pool=halide@accel'
"$root/build/bin/intarsia" explain "$work/model.so"
"$root/build/bin/intarsia" run "$work/model.so"
# The same program on another device of that kind, with a slow link.
"$root/build/bin/intarsia" run "$work/model.so" --bind 'accel=sim:1?latency_us=500&gbps=1'
"$root/build/bin/intarsia" check "$work/model.so"
