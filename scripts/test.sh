#!/bin/sh
# Every test: the fast ones, the slow ones (real models, the ONNX cases, examples), the run half built alone, for AArch64
# in an emulator, the threaded code under ThreadSanitizer, the fast ones without the compiler under AddressSanitizer and
# UndefinedBehaviorSanitizer, and a bounded time of fuzzing under these.
# FUZZ_SECONDS=N is the time for each fuzz target (10).
set -eu
cd "$(dirname "$0")/.."

# Says what runs, and how long it and all before it took.
times=
part() {
    title=$1
    shift
    echo "test: $title"
    began=$(date +%s)
    "$@"
    times="$times${times:+, }$title $(($(date +%s) - began)) s"
    echo "test: $times"
}

# Builds what the fast tests of a preset need, and runs them.
fast_tests_of() {
    cmake --preset "$1" >build/configure.log
    cmake --build --preset "$1" --target fast_tests -- --quiet
    ctest --preset "$1"
}

part "fast tests" ctest --test-dir build/release -L fast --output-on-failure -j 2
part "slow tests" ctest --test-dir build/release -L slow --output-on-failure -j 2
part "only the run half, with no compiler, importer or framework, on AArch64" scripts/other_cpus.sh aarch64
part "ThreadSanitizer" fast_tests_of tsan
part "AddressSanitizer and UndefinedBehaviorSanitizer" fast_tests_of asan
part "fuzzing" scripts/fuzz.sh "${FUZZ_SECONDS:-10}"
echo "test: all passed"
