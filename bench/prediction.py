"""How well the planner predicts: random placements of parts of a model on all backends, predicted and then run.

    build/venv/bin/python bench/prediction.py [--placements N] [--seconds S] [--threads N] [--seed N] [--document] MODEL...

Each model is compiled once, which measures what its parts take in the plans of single backends. Then a placement gives every
part a backend, in runs of equal ones; `compile --plan` predicts it, and `bench` runs it. Prints one line a placement, then the
median and the worst error; the last numbers of each model are kept in build/bench/prediction.json. With --document it writes the
section "Predicted times" of docs/performance.md from all that is kept. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import statistics

from measuring import BIN, OUT, ROOT, json_of, replace_section

TITLE = "## Predicted times"


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


def random_placement(choices: random.Random, segments: list[dict]) -> dict[str, str]:
    """Of up to eight runs of segments, each on a backend that has times for all of them."""
    cuts = sorted(choices.sample(range(1, len(segments)), min(choices.randint(1, 7), len(segments) - 1)))
    placement = {}
    for first, last in zip([0, *cuts], [*cuts, len(segments)], strict=True):
        part = segments[first:last]
        targets = [t for t in part[0]["ms"] if all(segment["ms"][t] is not None for segment in part)]
        target = choices.choice(targets)
        placement |= {node: target for segment in part for node in segment["source_nodes"]}
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
    segments = compile_model(model, arguments.threads)["segments"]
    choices = random.Random(arguments.seed)
    rows = []
    for _ in range(arguments.placements):
        row = measure_placement(
            model, random_placement(choices, segments), arguments.threads, arguments.seconds
        )
        error = "not predicted" if row["error"] is None else f"{row['error']:.1%}"
        print(
            f"{name}: {row['regions']} regions, predicted {row['predicted_ms']}, ran {row['measured_ms']} ms: {error}",
            flush=True,
        )
        rows.append(row)
    return rows


def table(results: dict[str, list[dict]]) -> list[str]:
    lines = ["| model | placements | regions | median error | worst |", "|---|---|---|---|---|"]
    for name, rows in results.items():
        errors = [row["error"] for row in rows if row["error"] is not None]
        regions = sorted({row["regions"] for row in rows})
        if errors:
            lines.append(
                f"| {name} | {len(errors)} | {regions[0]} to {regions[-1]} | {statistics.median(errors):.1%} "
                f"| {max(errors):.1%} |"
            )
    return lines


def section(results: dict[str, list[dict]]) -> list[str]:
    """The lines of the document, from the title on."""
    return [
        TITLE,
        "",
        "What the planner predicts of a placement that it has not run, against what it then takes: random placements of a model's parts",
        "on all backends, 1 thread. The parts' times come from plans that ran them in other surroundings.",
        "Written by `bench/prediction.py`.",
        "",
        *table(results),
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--placements", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--document", action="store_true", help="write the section of docs/performance.md")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    file = OUT / "prediction.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    for name in arguments.models:
        kept[name] = measure_model(name, arguments)
        file.write_text(json.dumps(kept, indent=2) + "\n")
    for line in table(kept):
        print(line)
    if arguments.document:
        replace_section(TITLE, section(kept))


if __name__ == "__main__":
    main()
