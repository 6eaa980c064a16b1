"""The backend cases of the onnx package with only our own backends, no framework: every second one, and of the bodies of ONNX's
functions, whose operators have cases of their own, every sixth; with more rounds all.

Covers: backends/reference/kernels/ *.cc
src/graph/ op_table*.cc shape_rules.cc
backends/halide/canonicalize/ *.cc
"""

import pytest
from conformance_checks import Verdicts
from onnx_cases import load_cases, read_exceptions, run_ours
from rounds import ROUNDS, one_in

LIST = "unsupported_fallback_none.txt"
FEWEST_NODE_CASES = 1450


def is_body(case):
    return "_expanded" in case.name


CASES = one_in(2, [case for case in load_cases() if not is_body(case)])
CASES += one_in(6, list(filter(is_body, load_cases())))
verdicts = Verdicts(read_exceptions(LIST), LIST)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cases")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, folder):
    verdicts.settle(case, run_ours(case, folder, fallback="none", backends=["halide", "reference"]))


def test_list_and_counts(capsys, request):
    assert not verdicts.unknown_names(load_cases())
    with capsys.disabled():
        verdicts.report("fallback none")
    if request.session.testscollected == len(CASES) + 1 and ROUNDS > 1:
        assert verdicts.counts["node", "passed"] >= FEWEST_NODE_CASES
