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
        ("", "it is not JSON: what is wrong ends at byte 1 of 0"),
        ("{", "it is not JSON: what is wrong ends at byte 2 of 1"),
        ("\x00\xff\x7fELF", "it is not JSON"),
        ("[]", "got a list, want an object"),
        ("[" * 10**6 + "]" * 10**6, "got a list, want an object"),
        ("{}", 'there is no "maxSizePerFPGA"'),
        (problem(maxFPGAs=-1), "maxFPGAs: got -1, want an integer from 0 to 1000"),
        (problem(maxCPUs=10**30), "want an integer from 0 to 1000"),
        (problem(maxSizePerFPGA="big"), 'maxSizePerFPGA: got "big", want a number from 0 to 1e+15'),
        (problem(maxFPGAs=0, maxCPUs=0), "there is no device"),
        (problem(nodes={}), "nodes: got an object, want a list"),
        (problem(nodes=[5]), "nodes[0]: got 5, want an object"),
        (problem(nodes=[node("10", 1, 1)]), 'nodes[0].id: got "10", want an integer'),
        (
            problem(nodes=[node(10, 1, 1, supportedOnFpga="yes")]),
            'nodes[0].supportedOnFpga: got "yes", want true',
        ),
        (problem(nodes=[node(10, [2] * 99, 1)]), "nodes[0].fpgaLatency: got a list, want a number"),
        (problem(nodes=[node(10, -1, 1)], edges=[]), "nodes[0].fpgaLatency: got -1, want a number from 0"),
        (problem(nodes=[{"id": 10}]), 'nodes[0]: there is no "supportedOnFpga"'),
        (problem(nodes=[node(10, 1, 1), node(10, 1, 1)]), "two nodes have the id 10"),
        (problem(edges=[edge(10, 99)]), "an edge is of node 99, which is not there"),
        (problem(edges=[{"sourceId": 10}]), 'edges[0]: there is no "destId"'),
        (problem(edges=[edge(10, 11, cost=None)]), "edges[0].cost: got null, want a number"),
        (problem(edges=[edge(10, 11), edge(11, 10)]), "cycle"),
        (problem(nodes=[node(10, 1, 1, size=200)], edges=[], maxCPUs=0), "no split was found"),
    ],
)
def test_what_is_no_problem(tmp_path, content, words):
    done = plan(content, tmp_path)
    assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1


def test_the_command_explains_itself(tmp_path):
    told = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    assert "Usage: " in told and "--json" in told
    for arguments in ([], ["--nothing"], [tmp_path, "two", "three"]):
        assert subprocess.run([PROGRAM, *arguments], capture_output=True, check=False).returncode == 2
    for path, why in ((tmp_path, "it is a folder"), (tmp_path / "none.json", "No such file")):
        done = subprocess.run([PROGRAM, path], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == 1
