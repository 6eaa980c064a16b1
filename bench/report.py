"""Measures and writes docs/performance.md and the table in the README.

Run on an idle machine: `make bench`. Latency by the protocol of one process per runtime, rounds of 10 runs taken in turn
with a pause of 100 ms; a round counts only if the waiting process used under 1% of a core. Ratios are from one run.
"""

from __future__ import annotations

import json
import pathlib
import platform
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = ROOT / "build/venv/bin/python"
BIN = ROOT / "build/bin"
MODELS = ["resnet50", "mobilenetv2", "inceptionv3", "efficientnetb0", "densenet121", "bert_base"]
RUNS, ROUNDS, PAUSE = 10, 3, 0.1


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


class Runner:
    def __init__(self, runtime: str, model: pathlib.Path, threads: int):
        command = [PYTHON, ROOT / "bench/time_model.py", runtime, model, str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().strip() == "ready"
        self.times: list[float] = []

    def round(self) -> list[float]:
        self.process.stdin.write(f"{RUNS}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def compare(model: pathlib.Path, threads: int) -> dict[str, float]:
    """Median milliseconds of both runtimes."""
    runners = {name: Runner(name, model, threads) for name in ("intarsia", "onnxruntime")}
    attempts = 0
    while min(len(r.times) for r in runners.values()) < RUNS * ROUNDS and attempts < 6 * ROUNDS:
        for name, runner in runners.items():
            attempts += 1
            time.sleep(PAUSE)
            waiting = [other for other_name, other in runners.items() if other_name != name]
            before, start = [cpu_seconds(w.process.pid) for w in waiting], time.perf_counter()
            times = runner.round()
            wall = time.perf_counter() - start
            used = max(cpu_seconds(w.process.pid) - b for w, b in zip(waiting, before, strict=True))
            if used <= max(0.01 * wall, 0.01):
                runner.times += times
    for runner in runners.values():
        runner.close()
    return {name: statistics.median(runner.times) for name, runner in runners.items()}


def json_of(*command: object) -> dict:
    return json.loads(subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout)


def compile_model(name: str) -> dict:
    return json_of(BIN / "intarsia", "compile", ROOT / f"build/models/{name}.onnx", "-o", ROOT / f"build/bench/{name}.so",
                   "--fallback", "none", "--json")


def first_result_ms(program: pathlib.Path) -> float:
    """Load to first result, in a fresh process, the best of five (file in the page cache)."""
    script = (
        "import sys,time,numpy as np,intarsia\n"
        "x=np.zeros((1,224,224,3),'float32'); t=time.perf_counter()\n"
        "intarsia.load(sys.argv[1])(image=x); print((time.perf_counter()-t)*1000)"
    )
    return min(float(subprocess.check_output([PYTHON, "-c", script, program], text=True)) for _ in range(5))


def latency_table() -> list[str]:
    lines = ["| model | nodes | regions | compile, s | 1 thread: ours / ONNX Runtime, ms | ratio | 2 threads, ms | ratio |",
             "|---|---|---|---|---|---|---|---|"]
    for name in MODELS:
        report = compile_model(name)
        targets = {region["target"] for region in report["regions"]}
        nodes = sum(region["nodes"] for region in report["regions"])
        cells = [name, str(nodes), f"{len(report['regions'])} {'/'.join(sorted(targets))}", f"{report['compile_seconds']:.1f}"]
        for threads in (1, 2):
            times = compare(ROOT / f"build/models/{name}.onnx", threads)
            cells += [f"{times['intarsia']:.1f} / {times['onnxruntime']:.1f}", f"{times['onnxruntime'] / times['intarsia']:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def figure_table() -> list[str]:
    dispatch = json_of(BIN / "bench_dispatch")
    partition = json_of(BIN / "bench_partition", "10000", "100000")
    worst: dict[int, float] = {}
    for result in partition["results"]:
        worst[result["nodes"]] = max(worst.get(result["nodes"], 0), result["seconds"])
    call = json_of(BIN / "bench_onnxruntime_call")
    first = first_result_ms(ROOT / "build/bench/resnet50.so")
    return ["```json", json.dumps({"dispatch": dispatch, "partition_worst_seconds_by_nodes": worst, "onnxruntime_call": call,
                                   "resnet50_load_to_first_result_ms": round(first, 1)}, indent=1), "```"]


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main() -> None:
    (ROOT / "build/bench").mkdir(parents=True, exist_ok=True)
    latency = latency_table()
    text = ["# Performance", "", "Written by `make bench` (`bench/report.py`). f32, batch 1; ratio = ONNX Runtime's time / ours,",
            "both from this one run. Absolute times differ from machine to machine.", "",
            f"Processor: {processor()}, 2 cores shared with other work.", "", "## Latency", "", *latency, "",
            "## Overheads", "", *figure_table(), ""]
    (ROOT / "docs/performance.md").write_text("\n".join(text))
    readme = (ROOT / "README.md").read_text()
    start, end = readme.index("## What was measured"), readme.index("The scripts are in `bench/`")
    section = "## What was measured\n\nf32, batch 1, ratio = ONNX Runtime's time / ours in the same run:\n\n" + "\n".join(latency) + "\n\n"
    (ROOT / "README.md").write_text(readme[:start] + section + readme[end:])


if __name__ == "__main__":
    main()
