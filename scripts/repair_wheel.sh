#!/bin/sh
# Makes a wheel of `pip wheel .` fit for other machines: takes into it the libraries of the system that it needs, and names the
# least glibc that it runs with. Halide's wheel, which pip installs beside it, and TensorFlow, which opens the op, have theirs.
#   scripts/repair_wheel.sh WHEEL FOLDER
set -eu
if [ $# != 2 ]; then
    echo "usage: scripts/repair_wheel.sh WHEEL FOLDER" >&2
    exit 2
fi
tools=$(cd "$(dirname "$0")/.." && pwd -P)/build/venv/bin
PATH=$tools:$PATH auditwheel repair "$1" -w "$2" --exclude libHalide.so --exclude 'libtensorflow_framework.so.*'
