"""Single TensorFlow operators with every backend, against TensorFlow's own outputs.

pytest test_tensorflow_operators.py [--report FILE]      FILE: {case: {"operator", "targets", "regions", "fault"}}

Covers: src/translate/ *.cc
src/compile/ translating_target.cc
"""

import collections
import json
import pathlib
import shutil
import subprocess
import sys

import pytest
import tensorflow_operators
from tensorflow_tools import difference

import intarsia

# Of the largest output. Ours may be off by 1e-4 (`math="fast"`); TensorFlow rounds a float16 after every step.
RTOL = {"float16": 4e-3, "float32": 1e-4, "float64": 1e-6, "complex64": 1e-4}
ATOL = {"float16": 1e-3, "float32": 1e-5, "float64": 1e-8, "complex64": 1e-5}
CASES = tensorflow_operators.load_cases()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder with the graphs of all cases, and {case: (inputs, outputs)}; by a separate process, because most users
    have no TensorFlow in their process."""
    folder = tmp_path_factory.mktemp("operators")
    done = subprocess.run(
        [sys.executable, tensorflow_operators.__file__, folder], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return folder, tensorflow_operators.read_values(folder)


@pytest.fixture(scope="module")
def report(made, request):
    """{case: what happened}, written at the end."""
    entries = {}
    yield entries
    path = made[0] / "report.json"
    path.write_text(json.dumps(entries, indent=1) + "\n")
    if wanted := request.config.getoption("--report"):
        shutil.copyfile(path, pathlib.Path(request.config.invocation_params.dir) / wanted)


def targets_of(compiled):
    return sorted({region["target"] for region in compiled.report["regions"]})


def difference_of(got, want, each):
    kind = want.dtype.name
    return difference(got, want, RTOL.get(kind, 0), ATOL.get(kind, 0), each)


def fault_of(compiled, inputs, expected, each):
    outputs = compiled.load().bind().run(inputs)
    if set(outputs) != set(expected):
        return f"outputs {sorted(outputs)} instead of {sorted(expected)}"
    faults = (
        f"{name}: {text}"
        for name, want in expected.items()
        if (text := difference_of(outputs[name], want, each))
    )
    return "; ".join(faults)


@pytest.mark.parametrize("name", CASES)
def test_operator(name, made, report):
    folder, values = made
    if name not in values:
        pytest.skip("TensorFlow has no kernel for it on this machine")
    inputs, expected = values[name]
    entry = report[name] = {"operator": CASES[name].operator, "targets": [], "regions": 0, "fault": ""}
    try:
        shapes = {key: inputs[key].shape for key in CASES[name].open}
        compiled = intarsia.compile(folder / f"{name}.pb", shapes=shapes, tune="off")
        entry |= {"targets": targets_of(compiled), "regions": len(compiled.report["regions"])}
        entry["fault"] = fault_of(compiled, inputs, expected, CASES[name].each)
    except intarsia.Error as error:
        entry["fault"] = str(error)
    if entry["fault"]:
        pytest.fail(entry["fault"], pytrace=False)


def test_counts(report, capsys):
    """Last: how many cases each set of targets ran."""
    counts = collections.Counter(" + ".join(entry["targets"]) or "nothing" for entry in report.values())
    failed = sum(bool(entry["fault"]) for entry in report.values())
    with capsys.disabled():
        print(
            f"\n{len(report)} TensorFlow operator cases, {failed} failed: "
            + ", ".join(f"{targets} {count}" for targets, count in counts.most_common())
        )
