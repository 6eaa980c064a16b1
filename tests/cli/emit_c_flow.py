"""`compile --emit c` of models that branch and loop.

Covers: src/emit_c/ place_steps.cc write_calls.cc write_flow.cc write_steps.cc
"""

import pytest
from cli_models import error_of
from control_flow_models import save_branch, save_loop, save_scan
from emitted_c import STRICT, compare

SANITIZED = (*STRICT, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def test_branches(tmp_path):
    compare(save_branch(tmp_path / "model.onnx"), tmp_path, flags=SANITIZED)
    text = (tmp_path / "c/net.c").read_text()
    assert "} else {" in text


@pytest.mark.parametrize("trips", [0, 1, 4, 5])
def test_loops_with_a_number_of_iterations(tmp_path, trips):
    compare(save_loop(tmp_path / "model.onnx", trips), tmp_path, flags=SANITIZED)


def test_loops_with_a_condition(tmp_path):
    compare(save_loop(tmp_path / "model.onnx", 40, checks=True, counts=False), tmp_path, flags=SANITIZED)


def test_scans_with_branches_inside(tmp_path):
    compare(save_scan(tmp_path / "model.onnx"), tmp_path, flags=SANITIZED)


def test_fewer_iterations_than_results_are_an_error(tmp_path):
    """The tensor of all results has a fixed size."""
    model = save_loop(tmp_path / "model.onnx", 40, checks=True)
    error = error_of("compile", model, "--emit", "c", "-o", tmp_path / "c/net")
    assert "'each'" in error and "known to a run only" in error, error
