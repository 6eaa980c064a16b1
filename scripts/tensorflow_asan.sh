#!/bin/sh
# Throws random types and shapes at the op 10,000 times, from 4 threads, with the op's library built under AddressSanitizer
# and UndefinedBehaviorSanitizer. Needs `make build`, and the environment of scripts/tensorflow_versions.py for this version.
#   scripts/tensorflow_asan.sh [VERSION]
set -eu
cd "$(dirname "$0")/.."
environment=$PWD/build/tensorflow/${1:-2.21.0}
plugins=$(echo "$environment"/lib/python3*/site-packages/tensorflow-plugins)
work=$(mktemp -d)
trap 'mv "$work/kept.so" "$plugins/libintarsia_tensorflow.so"; rm -rf "$work"' EXIT
mv "$plugins/libintarsia_tensorflow.so" "$work/kept.so"

g++ -std=c++23 -g -O1 -fPIC -shared -fvisibility=hidden -fsanitize=address,undefined -fno-sanitize-recover=undefined \
    -DINTARSIA_LIBRARY='"libintarsia.so.0"' -I. -Iinclude bindings/tensorflow/*.cc -o "$plugins/libintarsia_tensorflow.so" \
    -Wl,--version-script=bindings/tensorflow/exports.map -Wl,--unresolved-symbols=ignore-in-object-files \
    -Wl,--no-as-needed build/release/tensorflow_stub/libtensorflow_framework.so.2 -Wl,--as-needed -ldl -Wl,-rpath,"$PWD/build/release/lib"

build/venv/bin/python - "$work/two.so" <<'PYTHON'
import sys
import intarsia, onnx.parser
intarsia.compile(onnx.parser.parse_model("""<ir_version: 9, opset_import: ["": 18]>
two (float[rows,3] a, float[more,3] b) => (float[k,3] joined, float[rows,2] product) <float[3,2] w = {1,2,3,4,5,6}>
{ joined = Concat<axis=0>(a, b) product = MatMul(a, w) }"""), tune="off", backends=["reference"]).save(sys.argv[1])
PYTHON
build/venv/bin/python -c "
import ast, pathlib
tree = ast.parse(pathlib.Path('tests/python/tensorflow_faults.py').read_text())
print(next(node.value.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == 'RANDOM'))" >"$work/throw.py"
LD_PRELOAD="$(g++ -print-file-name=libasan.so):$(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0:use_sigaltstack=0 \
    TF_CPP_MIN_LOG_LEVEL=3 "$environment/bin/python" "$work/throw.py" "$work/two.so" "$plugins/libintarsia_tensorflow.so" "$(date +%s)"
