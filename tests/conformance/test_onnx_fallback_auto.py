"""The backend cases of the onnx package with every backend: what ONNX Runtime passes, we pass. Every third one; with more
rounds all.

Covers: backends/onnxruntime/ *.cc
src/import/ import_onnx.cc onnx_*.cc
"""

import pytest
from conformance_checks import Verdicts
from onnx_cases import load_cases, read_exceptions, run_onnxruntime, run_ours
from rounds import one_in

LIST = "unsupported_fallback_auto.txt"
verdicts = Verdicts(read_exceptions(LIST), LIST)
CASES = one_in(3, load_cases())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cases")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, folder):
    why = run_ours(case, folder)
    if why and run_onnxruntime(case):
        verdicts.counts[case.kind, "failed by ONNX Runtime, too"] += 1
        assert case.name not in verdicts.exceptions, f"{case.name}: ONNX Runtime fails it: take it off {LIST}"
        return
    verdicts.settle(case, why)


def test_list_and_counts(capsys):
    assert not verdicts.unknown_names(load_cases())
    with capsys.disabled():
        verdicts.report("fallback auto")
