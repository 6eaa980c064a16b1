"""Runs of one session at random sizes, in shuffled order, against ONNX Runtime; after them its memory stays flat."""

import gc
import os
import random

import numpy as np
from rounds import ROUNDS, SEED

COUNT = 20 * ROUNDS  # sizes of a model
GROWTH = 0.03  # of resident memory that counts as flat


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check_values(got, want, at):
    assert got.shape == want.shape, at
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, err_msg=at)
        return
    largest = np.abs(want).max(initial=0)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 + 1e-4 * largest, err_msg=at)


def run_at_random_sizes(session, oracle, draw, make, count=COUNT, again=COUNT):
    """Compares at `count` sizes that `draw` takes from a generator, and `make` turns into inputs; then runs at the same
    sizes (`again` of them) in other orders, in which the process must not grow."""
    print(f"INTARSIA_SEED={SEED} draws these sizes again")
    choices = random.Random(SEED)
    names = [output.name for output in oracle.get_outputs()]
    sizes = [draw(choices) for _ in range(count)]
    choices.shuffle(sizes)
    for one in sizes:
        given = make(one)
        want = oracle.run(names, given)
        got = session.run(given)
        for name, values in zip(names, want, strict=True):
            check_values(got[name], values, f"INTARSIA_SEED={SEED} {one} {name}")

    del sizes[again:]

    def run_again(orders):
        for _ in range(orders):
            choices.shuffle(sizes)
            for one in sizes:
                session.run(make(one))
        gc.collect()
        return resident_bytes()

    before = run_again(1)
    after = run_again(2)
    assert after <= before * (1 + GROWTH), f"INTARSIA_SEED={SEED}: {before} bytes became {after}"
