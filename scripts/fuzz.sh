#!/bin/sh
# Builds the fuzz targets and runs each for a bounded time: scripts/fuzz.sh SECONDS [TARGET...]
# Inputs that were found stay in build/fuzz/corpus, those that fail in build/fuzz/found; any of the latter fails the script.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:?usage: scripts/fuzz.sh SECONDS [TARGET...]}
shift
targets=${*:-fuzz_onnx fuzz_graph_text fuzz_program fuzz_halide_plan fuzz_tensorflow fuzz_plan fuzz_pipeline fuzz_costs}
folder=build/fuzz

cmake --preset asan >build/fuzz.log
cmake --build --preset asan --target print_seeds $targets -- --quiet
bin=build/asan/bin

# Seeds: the models of the ONNX node tests, their text forms, programs from a build, graphs of single TensorFlow operators
# and the smaller SavedModels.
if [ ! -f $folder/seeds ]; then
  mkdir -p $folder/corpus/fuzz_onnx $folder/corpus/fuzz_graph_text $folder/corpus/fuzz_program $folder/corpus/fuzz_halide_plan $folder/corpus/fuzz_tensorflow
  build/venv/bin/python tests/conformance/tensorflow_operators.py $folder/corpus/fuzz_tensorflow --graphs >>build/fuzz.log 2>&1
  for model in build/models/tensorflow/*/saved_model.pb; do
    [ -f "$model" ] || continue
    [ "$(stat -c %s "$model")" -gt 110000 ] || cp "$model" "$folder/corpus/fuzz_tensorflow/$(basename "$(dirname "$model")").pb"
  done
  build/venv/bin/python tests/fuzz/make_onnx_seeds.py $folder/corpus/fuzz_onnx
  $bin/print_seeds $folder/corpus/fuzz_graph_text $folder/corpus/fuzz_onnx/*.onnx
  mkdir -p build/programs
  [ ! -x build/bin/intarsia ] || build/bin/intarsia compile $folder/corpus/fuzz_onnx/test_conv_with_strides_padding.onnx -o build/programs/several_cpus.so \
    --cpu x86-64-v2,x86-64-v3 --fallback none --tune off >>build/fuzz.log
  for model in test_if test_loop11 test_scan9_sum; do
    [ ! -x build/bin/intarsia ] || build/bin/intarsia compile $folder/corpus/fuzz_onnx/$model.onnx -o build/programs/$model.so \
      --fallback none --tune off >>build/fuzz.log
  done
  programs=$(find build/programs examples -name '*.so' -size -4096k 2>/dev/null || true)
  [ -z "$programs" ] || python3 tests/fuzz/make_seeds.py $folder/corpus/fuzz_program $folder/corpus/fuzz_halide_plan $programs
  touch $folder/seeds
fi

# Seeds that this script has.
mkdir -p $folder/corpus/fuzz_plan $folder/corpus/fuzz_pipeline $folder/corpus/fuzz_costs $folder/found
echo '{"intarsia_plan": 1, "functions": {"main": {"measured_ms": 6.43, "nodes": {"conv1": "halide@cpu"}, "stages": [{"slot": "cpu", "executors": ["cpu:0"], "nodes": ["conv1"]}]}}}' >$folder/corpus/fuzz_plan/plan.json
echo '{"intarsia_pipeline": 1, "depth": 2, "timeout_ms": 0.5, "deadline_ms": 40, "queue": "latest", "stages": [{"name": "a", "program": "a.so", "devices": {"cpu": "cpu:0"}, "threads": 1, "scatter": ["y"]}, {"name": "b", "program": "b.so", "gather": true, "queue": "block", "function": "main", "replicas": [{"devices": {"cpu": "cpu:1"}}]}, {"stages_of": "c.so"}], "connections": [["a.y", "b.x"]], "inputs": {"photo": ["a.x"]}, "outputs": {"scores": "b.y"}}' >$folder/corpus/fuzz_pipeline/pipeline.json
echo '{"intarsia_costs": 1, "machine": {"name": "a board", "architecture": "aarch64"}, "cpu": "cortex-a72", "generator": {"backend": "halide", "version": "21.0.0", "code": "c0de"}, "kernels": [{"digest": "0123456789abcdef0123456789abcdef", "threads": 4, "precision": "f32", "seconds": 2e-6, "spread": 0.5, "probe_seconds": 5e-5, "at": 1700000000123}]}' >$folder/corpus/fuzz_costs/costs.json
export UBSAN_OPTIONS=print_stacktrace=1
# Two at a time; each prints what it has to say when it is done.
printf '%s\n' $targets | xargs -P 2 -I TARGET sh -c "
  echo 'fuzz: TARGET for $seconds s'
  $bin/TARGET -seed=1 -max_total_time=$seconds -timeout=20 -rss_limit_mb=4096 -max_len=131072 -print_final_stats=1 \\
    -verbosity=0 -artifact_prefix=$folder/found/TARGET- $folder/corpus/TARGET >$folder/TARGET.log 2>&1
  status=\$?
  cat $folder/TARGET.log
  [ \$status = 0 ] || exit 255"
