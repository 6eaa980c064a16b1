#!/bin/sh
# A camera's pictures through a pipeline: two functions of Python and two programs, each on a device of its own.
# DEVICES="cpu:0 opencl:0" names others than two cores.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Two cores that this process may use; one is shared by both stages.
cores=$("$root/build/venv/bin/python" -c 'import os; c = sorted(os.sched_getaffinity(0)); print(f"cpu:{c[0]} cpu:{c[-1]}")')

"$root/build/venv/bin/python" "$here/make_models.py" "$work"
set -- ${DEVICES:-$cores}
"$root/build/bin/intarsia" compile "$work/backbone.onnx" -o "$work/backbone.so" --threads 1 --devices "$1"
"$root/build/bin/intarsia" compile "$work/head.onnx" -o "$work/head.so" --threads 1 --devices "$2"
"$root/build/venv/bin/python" "$here/camera.py" "$work" --devices "$1" "$2"
