#!/usr/bin/env python3
"""Cuts program files into seeds for fuzz_program: the description alone, and small files whole.

    tests/fuzz/make_seeds.py FOLDER PROGRAM.so...
    build/fuzz/bin/fuzz_program FOLDER
"""
import pathlib
import struct
import sys

FOOTER_BYTES = 56  # docs/format.md


def seeds(program):
    description_bytes, = struct.unpack_from("<Q", program, len(program) - 32)
    end = len(program) - FOOTER_BYTES
    yield b"\0" + program[end - description_bytes:end]
    if len(program) < 1 << 16:
        yield b"\1" + program


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in sys.argv[2:]:
        for number, seed in enumerate(seeds(pathlib.Path(path).read_bytes())):
            (folder / f"{pathlib.Path(path).stem}-{number}").write_bytes(seed)
