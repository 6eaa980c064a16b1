"""How well the planner predicts: random placements of parts of a model on all backends, predicted and then run.

    build/venv/bin/python bench/prediction.py [--placements N] [--seconds S] [--threads N] [--seed N] MODEL...

Each model is compiled once, which measures what its parts take in the plans of single backends. Then a placement gives every
part a backend, in runs of equal ones; `compile --plan` predicts it, and `bench` runs it. Prints one line a placement, then the
median and the worst error; all numbers go to build/bench/prediction.json. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import statistics

from measuring import BIN, OUT, ROOT, json_of


def compile_model(model: pathlib.Path, threads: int, *options: object) -> dict:
    return json_of(
        BIN / "intarsia",
        "compile",
        model,
        "-o",
        OUT / "predicted.so",
        "--threads",
        threads,
        "--json",
        *options,
    )


def random_placement(choices: random.Random, stretches: list[dict]) -> dict[str, str]:
    """Of up to eight runs of stretches, each on a backend that has times for all of them."""
    cuts = sorted(choices.sample(range(1, len(stretches)), min(choices.randint(1, 7), len(stretches) - 1)))
    placement = {}
    for first, last in zip([0, *cuts], [*cuts, len(stretches)], strict=True):
        part = stretches[first:last]
        targets = [t for t in part[0]["ms"] if all(stretch["ms"][t] is not None for stretch in part)]
        target = choices.choice(targets)
        placement |= {node: target for stretch in part for node in stretch["source_nodes"]}
    return placement


def measure_placement(model: pathlib.Path, placement: dict[str, str], threads: int, seconds: float) -> dict:
    plan = OUT / "predicted.json"
    plan.write_text(json.dumps({"intarsia_plan": 1, "functions": {"main": {"nodes": placement}}}))
    compiled = compile_model(model, threads, "--plan", plan)
    run = json_of(
        BIN / "intarsia", "bench", OUT / "predicted.so", "--threads", threads, "-t", seconds, "--json", "-q"
    )
    predicted, measured = compiled["predicted_ms"], run["results"][0]["min_ms"]
    return {
        "regions": len(compiled["regions"]),
        "predicted_ms": predicted,
        "measured_ms": measured,
        "error": None if predicted is None else abs(predicted - measured) / measured,
    }


def measure_model(name: str, arguments: argparse.Namespace) -> list[dict]:
    model = ROOT / f"build/models/{name}.onnx"
    stretches = compile_model(model, arguments.threads)["stretches"]
    choices = random.Random(arguments.seed)
    rows = []
    for _ in range(arguments.placements):
        row = measure_placement(
            model, random_placement(choices, stretches), arguments.threads, arguments.seconds
        )
        error = "not predicted" if row["error"] is None else f"{row['error']:.1%}"
        print(
            f"{name}: {row['regions']} regions, predicted {row['predicted_ms']}, ran {row['measured_ms']} ms: {error}",
            flush=True,
        )
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--placements", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    results = {name: measure_model(name, arguments) for name in arguments.models}
    (OUT / "prediction.json").write_text(json.dumps(results, indent=2) + "\n")
    for name, rows in results.items():
        errors = [row["error"] for row in rows if row["error"] is not None]
        if errors:
            print(
                f"{name}: median {statistics.median(errors):.1%}, worst {max(errors):.1%}, of {len(errors)}"
            )


if __name__ == "__main__":
    main()
