#!/bin/sh
# Times the kernels in this folder, on the machine that they are for, and writes times.json, which
# `intarsia costs import` reads on the machine that compiles. It takes a while; let nothing else run meanwhile.
# Needs glibc; where the timer does not start, a C compiler (cc) makes it anew.
#   RUNNER   what starts a program, as in "taskset -c 0-3" or "qemu-aarch64-static -L /usr/aarch64-linux-gnu"
set -eu
cd "$(dirname "$0")"
timer=./timer
run() { ${RUNNER:-} "$timer" "$@"; }
if ! run --version >/dev/null; then
    timer=./timer.here
    ${CC:-cc} -O2 -std=gnu11 -pthread timer.c -o "$timer" -ldl
fi
run ./kernels.so kernels.txt >times.json.new
mv times.json.new times.json
echo "times.json is written; on the machine that compiles: intarsia costs import times.json"
