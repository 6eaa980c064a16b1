#!/bin/sh
# Every test: the fast ones, the slow ones (real models, the ONNX cases, examples), the run half built alone, races, and
# a bounded time of fuzzing under sanitizers. FUZZ_SECONDS=N is the time for each fuzz target (20).
set -eu
cd "$(dirname "$0")/.."

ctest --test-dir build/release -L fast --output-on-failure -j 2
ctest --test-dir build/release -L slow --output-on-failure

echo "test: the run half alone, with no compiler, importer or framework"
cmake --preset runtime-only >build/configure.log
cmake --build --preset runtime-only

echo "test: many threads on one program, under ThreadSanitizer"
cmake --preset tsan >build/configure.log
cmake --build --preset tsan --target thread_pool runtime_session runtime_overlap runtime_api halide_host
for name in thread_pool runtime_session runtime_overlap runtime_api halide_host; do build/tsan/bin/$name --gtest_brief=1; done

scripts/fuzz.sh "${FUZZ_SECONDS:-20}"
echo "test: all passed"
