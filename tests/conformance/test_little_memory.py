"""Nets in little memory: the workspace of a region is close to the values that must be alive at once, and with a limit a large
net computes the same in half of it.

Covers: backends/halide/build/ stack_bytes.cc
backends/halide/memory/ order_calls.cc plan_workspace.cc split_to_fit.cc
src/plan/choose/ fit_memory.cc
"""

import numpy as np
import pytest
from cli_models import call, call_json, error_of
from keyword_spotting import save_network, save_quantized_network
from model_tools import MODELS
from person_detection import save_person_detection

OURS = ("--backends", "halide", "--fallback", "none", "--threads", "1", "--tune", "off")


def memory_of(model, *options):
    return call_json("compile", model, "--dry-run", *OURS, *options)["slots"][0]["memory"]


@pytest.mark.parametrize("name", ["keywords", "keywords_int8", "person", "mobilenetv2"])
def test_a_session_needs_little_more_than_the_values_that_are_alive_at_once(name, tmp_path):
    make = {
        "keywords": lambda: save_network(tmp_path / "model.onnx"),
        "keywords_int8": lambda: save_quantized_network(tmp_path),
        "person": lambda: save_person_detection(tmp_path / "model.onnx"),
        "mobilenetv2": lambda: MODELS / "mobilenetv2.onnx",
    }
    memory = memory_of(make[name]())
    peak = sum(value["bytes"] for value in memory["peak"])
    assert peak <= memory["arena_bytes"] <= 1.01 * peak + memory["scratch_bytes"]
    assert 0 < memory["stack_bytes"] < 64 * 1024


@pytest.mark.parametrize("part", [2, 3])
def test_a_large_net_computes_the_same_in_a_part_of_its_memory(part, tmp_path):
    model = MODELS / "mobilenetv2.onnx"
    free = memory_of(model)
    limit = free["constants_bytes"] + free["arena_bytes"] // part
    program, large = tmp_path / "small.so", tmp_path / "large.so"
    report = call_json("compile", model, "-o", program, *OURS, "--memory", f"cpu={limit}")
    memory = report["slots"][0]["memory"]
    assert memory["constants_bytes"] + memory["arena_bytes"] <= limit
    assert memory["arena_bytes"] < free["arena_bytes"] * 0.55
    assert call_json("check", program)["ok"]
    call("compile", model, "-o", large, *OURS, "--math", "exact")
    results = []
    for which in (program, large):
        folder = tmp_path / which.stem
        call("run", which, "-o", folder)
        results.append(np.load(next(folder.glob("*.npy"))))
    assert np.abs(results[0] - results[1]).max() <= 1e-4 * np.abs(results[1]).max()


def test_what_needs_the_memory_is_told(tmp_path):
    model = save_person_detection(tmp_path / "model.onnx")
    constants = memory_of(model)["constants_bytes"]
    message = error_of(
        "compile", model, "-o", tmp_path / "none.so", *OURS, "--memory", f"cpu={constants + 1000}"
    )
    assert "--memory cpu: the limit is" in message and " more: " in message
    assert (
        "when there are alive '" in message
        and "take a smaller input, fewer channels there, or 8 bits" in message
    )
    assert not (tmp_path / "none.so").exists()
