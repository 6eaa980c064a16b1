#!/usr/bin/env python3
"""Cuts program files into seeds: for fuzz_program only the description, and small files whole; for fuzz_halide_plan the
first blob.

    tests/fuzz/make_seeds.py PROGRAM_FOLDER PLAN_FOLDER PROGRAM.so...
    build/fuzz/bin/fuzz_program PROGRAM_FOLDER
"""

import pathlib
import struct
import sys

FOOTER_BYTES = 56  # docs/format.md


def parts(program):
    """Bytes of blobs and description, the last parts of the file."""
    return struct.unpack_from("<QQ", program, len(program) - 40)


def blob(program):
    """With the others and zeros after it, which FlatBuffers data allows."""
    blobs_bytes, description_bytes = parts(program)
    end = len(program) - FOOTER_BYTES - description_bytes
    return program[end - blobs_bytes : end]


def seeds(program):
    end = len(program) - FOOTER_BYTES
    _, description_bytes = parts(program)
    yield b"\0" + program[end - description_bytes : end]
    if len(program) < 1 << 16:
        yield b"\1" + program


if __name__ == "__main__":
    folder, plan_folder = map(pathlib.Path, sys.argv[1:3])
    for made in (folder, plan_folder):
        made.mkdir(parents=True, exist_ok=True)
    for path in map(pathlib.Path, sys.argv[3:]):
        program = path.read_bytes()
        for number, seed in enumerate(seeds(program)):
            (folder / f"{path.stem}-{number}").write_bytes(seed)
        (plan_folder / path.stem).write_bytes(blob(program))
