"""The held set against ONNX Runtime and OpenVINO: models for which nothing here was ever tuned.

    build/venv/bin/python bench/held.py [--seconds S] [--only MODEL ...] [--document]

Each is measured native (`--fallback none`) and shipped (as by default), beside the peers in the same run. The last numbers of each
model are kept in build/bench/held.json. With --document it writes the section "Models that nobody named" of docs/performance.md
and the row of the README's table, from all numbers that are kept. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

from measuring import BIN, OUT, PYTHON, ROOT, THREADS, json_of, replace_section
from report import PEERS, by_runtime, geometric_mean

sys.path.insert(0, str(ROOT / "scripts"))
from make_held_models import MEMBERS  # noqa: E402

TITLE = "## Models that nobody named"
WAYS = {"native": ["--fallback", "none"], "shipped": []}
README_ROW = re.compile(r"^\| the held set .*\n", re.MULTILINE)


def measure_model(name: str, threads: int, way: str, seconds: float) -> dict:
    peers = ",".join(PEERS)
    options = ["--threads", threads, "-t", seconds, "--against", peers, "--json", "-q", *WAYS[way]]
    run = json_of(BIN / "intarsia", "bench", ROOT / f"build/held/{name}.onnx", *options)
    print(f"{name}, {threads} threads, {way}: {run['ratio_min']:.2f}", file=sys.stderr, flush=True)
    return {"model": name, "threads": threads, "way": way, "run": run}


def mean_of(rows: list[dict], threads: int, way: str, kind: str) -> float:
    return geometric_mean(
        [row["run"][kind] for row in rows if row["threads"] == threads and row["way"] == way]
    )


def print_row(row: dict) -> str:
    run, results = row["run"], by_runtime(row["run"])
    times = [
        f"{results[one]['min_ms']:.1f} ({results[one]['median_ms']:.1f})" for one in ("intarsia", *PEERS)
    ]
    ratios = [f"{run['ratio_min']:.2f}", f"{run['ratio_median']:.2f}"]
    return "| " + " | ".join([row["model"], str(row["threads"]), row["way"], *times, *ratios]) + " |"


def section(rows: list[dict], load: float) -> list[str]:
    lines = [
        TITLE,
        "",
        "Image classifiers of keras.applications for which nothing here was ever tuned (`scripts/make_held_models.py`; the set never",
        "changes), native (`--fallback none`) and as they ship by default. Least times in ms, in brackets medians; ratio = the best peer's",
        f"time / ours in the same run. Written by `bench/held.py`. Load average before: {load:.1f}.",
        "",
        f"| model | threads | | Intarsia | {' | '.join(PEERS.values())} | ratio | of medians |",
        "|---|---|---|---|---|---|---|---|",
        *map(print_row, rows),
    ]
    for threads in THREADS:
        for way in WAYS:
            means = [f"**{mean_of(rows, threads, way, kind):.2f}**" for kind in ("ratio_min", "ratio_median")]
            lines.append(f"| geometric mean | {threads} | {way} | | | | {' | '.join(means)} |")
    return [*lines, ""]


def readme_row(rows: list[dict]) -> str:
    models = len({row["model"] for row in rows})
    cells = [f"the held set ({models} models, never tuned for), as shipped", "", "", ""]
    for threads in THREADS:
        least, median = (mean_of(rows, threads, "shipped", kind) for kind in ("ratio_min", "ratio_median"))
        cells += [f"by medians {median:.2f}", f"{least:.2f}"]
    return "| " + " | ".join(cells) + " |\n"


def write_documents(rows: list[dict], load: float) -> None:
    replace_section(TITLE, section(rows, load))
    readme = ROOT / "README.md"
    text = README_ROW.sub("", readme.read_text())
    mean = re.search(r"^\| geometric mean .*\n", text, re.MULTILINE)
    readme.write_text(text[: mean.end()] + readme_row(rows) + text[mean.end() :])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10, help="of each model, way and number of threads")
    parser.add_argument("--only", nargs="*", choices=list(MEMBERS), metavar="MODEL", default=list(MEMBERS))
    parser.add_argument("--document", action="store_true", help="write docs/performance.md and the README")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    subprocess.run([PYTHON, ROOT / "scripts/make_held_models.py"], check=True, stdout=sys.stderr)
    file = pathlib.Path(OUT / "held.json")
    kept = {
        (row["model"], row["threads"], row["way"]): row
        for row in (json.loads(file.read_text()) if file.exists() else [])
    }
    for name in arguments.only:
        for threads in THREADS:
            for way in WAYS:
                kept[name, threads, way] = measure_model(name, threads, way, arguments.seconds)
                file.write_text(json.dumps(list(kept.values()), indent=1))
    if arguments.document:
        write_documents(list(kept.values()), load)


if __name__ == "__main__":
    main()
