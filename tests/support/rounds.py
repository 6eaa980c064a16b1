"""How long tests that can go on for ever do: INTARSIA_ROUNDS=N makes them N times as long (`make soak`)."""

import os

ROUNDS = int(os.environ.get("INTARSIA_ROUNDS", 1))
