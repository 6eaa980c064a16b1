"""The backend cases of the onnx package in OpenVINO alone: what it takes it computes as ONNX says, all else it refuses.
Every fifth one; with more rounds all.

Covers: backends/openvino/ *.cc
"""

import collections

import pytest
from onnx_cases import load_cases, run_ours
from rounds import one_in

FEWEST_NODE_CASES = 90
CASES = one_in(5, load_cases())
REFUSED = "no backend runs these operators: "
counts = collections.Counter()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cases")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, folder):
    why = run_ours(case, folder, backends=["openvino"])
    counts[case.kind, "refused" if why else "passed"] += 1
    assert not why or why.startswith(REFUSED), f"{case.name}: {why}"


def test_counts(capsys, request):
    with capsys.disabled():
        print(
            "\nopenvino: "
            + ", ".join(f"{kind} {what} {count}" for (kind, what), count in sorted(counts.items()))
        )
    if request.session.testscollected == len(CASES) + 1:
        assert counts["node", "passed"] >= FEWEST_NODE_CASES
