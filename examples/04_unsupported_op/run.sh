#!/bin/sh
# An operator that our compiler lacks runs in the framework the model came from; the rest is compiled.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/build/venv/bin/python" "$here/make_model.py" "$work/model.onnx"
# Without a framework it does not compile, and the error names the operator.
if "$root/build/bin/intarsia" compile "$work/model.onnx" -o "$work/model.so" --fallback none 2>"$work/error"; then exit 1; fi
grep QuickGelu "$work/error"

"$root/build/bin/intarsia" compile "$work/model.onnx" -o "$work/model.so"
"$root/build/bin/intarsia" explain "$work/model.so"
"$root/build/bin/intarsia" check "$work/model.so"
