#!/bin/sh
# From a WAV file to a word in plain C: on this machine and, where compilers and emulators for them are installed
# (packages.txt), on AArch64 and a Cortex-M4.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$root/build/venv/bin/python

cc -std=c11 -O2 -shared -fPIC "$here/features.c" -o "$work/features.so" -lm
"$python" "$here/make_model.py" "$work/features.so" "$work"
for word in yes stop; do "$python" "$here/make_wav.py" "$word" "$work/$word.wav"; done
head -c 20000 "$work/yes.wav" >"$work/damaged.wav"

# has TOOL...: whether all are installed.
has() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed" && return 1; }
    done
}

# build NAME OPTIONS COMPILER...: objects of the program for a processor, in $folder.
build() {
    folder=$work/$1 options=$2
    shift 2
    "$root/build/bin/intarsia" compile "$work/words.onnx" --emit c -o "$folder/net" $options
    for source in "$here/main.c" "$here/wav.c" "$here/features.c" "$folder/net.c"; do
        "$@" -std=c11 -O2 -Wall -Wextra -Werror -pedantic -I"$folder" -I"$work" \
            -c "$source" -o "$folder/$(basename "$source" .c).o"
    done
}

# check COMMAND...: it says the words of two files, and of a damaged one what is wrong with it.
check() {
    for word in yes stop; do
        "$@" "$work/$word.wav" >"$work/said"
        grep -E "^$word (0\.[5-9]|1)" "$work/said"
    done
    if "$@" "$work/damaged.wav" 2>"$work/error"; then exit 1; fi
    grep "damaged.wav': it ends within its samples: copy it again" "$work/error"
}

build here "" cc
cc "$folder"/*.o "$folder/libnet_kernels.a" -lm -o "$work/word"
check "$work/word"

if has aarch64-linux-gnu-gcc qemu-aarch64-static; then
    build aarch64 "--arch aarch64 --cpu cortex-a72" aarch64-linux-gnu-gcc
    aarch64-linux-gnu-gcc "$folder"/*.o "$folder/libnet_kernels.a" -lm -o "$work/word"
    check qemu-aarch64-static -L /usr/aarch64-linux-gnu "$work/word"
fi

# A board has no arguments: a main program of its own names the file, which the emulator reads here.
run_on_board() {
    echo "int find_word(int, char**);
          int main(void) { return find_word(2, (char*[]){\"word\", \"$1\"}); }" >"$work/board.c"
    "$root/tests/support/board/run_on_board.sh" cortex-m4 "$work" "$work/board.c" "$folder"/*.o \
        "$folder/libnet_kernels.a"
}
if has arm-none-eabi-gcc qemu-system-arm clang-19; then
    build cortex-m4 "--arch armv7e-m --cpu cortex-m4" \
        arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Dmain=find_word
    check run_on_board
    # The front end, the program and the network, each for itself.
    (cd "$folder" && arm-none-eabi-size features.o wav.o main.o net.o net_constants.o && ls -l "$work/words.onnx")
fi
