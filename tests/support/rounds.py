"""How long tests that can go on for ever do: INTARSIA_ROUNDS=N makes them N times as long (`make soak`); and what their
random numbers start with: INTARSIA_SEED=N."""

import os

ROUNDS = int(os.environ.get("INTARSIA_ROUNDS", 1))
SEED = int(os.environ.get("INTARSIA_SEED", 11))


def one_in(count, cases):
    """One of `count` cases; all with more rounds."""
    return cases[:: count if ROUNDS == 1 else 1]
