"""bench/plan_workload.cc: a file in the format of public placement problems, and what is wrong with others.

Covers: bench/plan_workload.cc
"""

import json
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ["INTARSIA_CLI"]).parent / "plan_workload"


def node(number, accelerator, core, size=1, **more):
    return {
        "id": number,
        "supportedOnFpga": True,
        "fpgaLatency": accelerator,
        "cpuLatency": core,
        "size": size,
    } | more


def edge(source, target, cost=1):
    return {"sourceId": source, "destId": target, "cost": cost}


def problem(**changes):
    """A chain on two accelerators and a core: 10 > 11 > 12 > 13."""
    base = {
        "maxFPGAs": 2,
        "maxSizePerFPGA": 100,
        "maxCPUs": 1,
        "nodes": [node(10, 4, 20), node(11, 4, 20), node(12, 6, 60), node(13, 5, 5)],
        "edges": [edge(10, 11, 50), edge(11, 12), edge(12, 13)],
    }
    return base | changes


def plan(content, folder):
    file = folder / "problem.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return subprocess.run([PROGRAM, file, "--json"], capture_output=True, text=True, check=False)


def test_a_chain(tmp_path):
    result = json.loads(plan(problem(), tmp_path).stdout)
    assert result["assignment"] == {"10": "acc0", "11": "acc0", "12": "acc1", "13": "cpu0"}
    assert result["max_load"] == 9, "10 and 11, and sending; 12 receives and sends: 8; the core pays nothing"
    assert result["lower_bound"] == 9 and result["seconds"] < 5


def test_colors_and_memory(tmp_path):
    nodes = [node(10, 4, 20), node(11, 4, 20, colorClass=1), node(12, 6, 60, colorClass=1), node(13, 5, 5)]
    result = json.loads(plan(problem(nodes=nodes), tmp_path).stdout)
    assert result["assignment"]["11"] == result["assignment"]["12"]
    result = json.loads(plan(problem(maxSizePerFPGA=1), tmp_path).stdout)
    assert sorted(result["assignment"].values()) == ["acc0", "acc1", "cpu0", "cpu0"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "parse error"),
        (problem(maxFPGAs=-1), "maxFPGAs is -1, want 0 to 1000"),
        (problem(maxFPGAs=0, maxCPUs=0), "there is no device"),
        (problem(edges=[edge(10, 99)]), "an edge is of node 99, which is not there"),
        (problem(edges=[edge(10, 11), edge(11, 10)]), "cycle"),
        (problem(nodes=[node(10, 1, 1), node(10, 1, 1)]), "two nodes have the id 10"),
        (problem(nodes=[node(10, -1, 1)], edges=[]), "negative"),
        (problem(nodes=[node(10, 1, 1, size=200)], edges=[], maxCPUs=0), "no split was found"),
    ],
)
def test_what_is_no_problem(tmp_path, content, words):
    done = plan(content, tmp_path)
    assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1
