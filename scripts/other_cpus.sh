#!/bin/sh
# Builds the run half for another architecture, and runs its tests and programs for it, under an emulator.
#   scripts/other_cpus.sh aarch64|armv7|riscv64|least-aarch64
# Needs build/release. Says so and does nothing where cross compiler or emulator are missing.
set -eu
cd "$(dirname "$0")/.."

toolchain=cmake/toolchains/${1#least-}.cmake
compiler=$(sed -n 's/set(CMAKE_CXX_COMPILER \(.*\))/\1/p' "$toolchain")
emulator=$(sed -n 's/set(CMAKE_CROSSCOMPILING_EMULATOR \([^ ]*\) .*/\1/p' "$toolchain")
for tool in "$compiler" "$emulator"; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed (packages.txt)"
        exit 0
    fi
done
cmake --preset "runtime-only-$1" >build/configure.log
cmake --build --preset "runtime-only-$1" -- --quiet
ctest --preset "runtime-only-$1"
