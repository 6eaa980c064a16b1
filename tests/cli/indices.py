"""Models whose inputs are indices, as token ids are: what is filled is valid, and what is not is an error.

Covers: src/passes/ index_limits.cc
cli/inputs/ inputs.cc
src/measure/ benchmark_subject.cc check_model.cc other_inputs.cc
"""

import numpy as np
from cli_models import call, call_json, save
from onnx import TensorProto, helper


def save_embeddings(path):
    """Word and type embeddings, of which the second has one row only, as RoBERTa's."""
    words = np.arange(1000 * 4, dtype=np.float32).reshape(1000, 4)
    types = np.ones([1, 4], np.float32)
    return save(
        path,
        [
            helper.make_node("Gather", ["types", "type_ids"], ["a"], "type_embedding"),
            helper.make_node("Gather", ["words", "ids"], ["b"], "word_embedding"),
            helper.make_node("Add", ["a", "b"], ["y"], "sum"),
        ],
        [("ids", TensorProto.INT64, [1, 3]), ("type_ids", TensorProto.INT64, [1, 3])],
        [("y", TensorProto.FLOAT, [1, 3, 4])],
        constants=[("words", words), ("types", types)],
    )


def test_filled_indices_are_valid(tmp_path):
    model = save_embeddings(tmp_path / "embeddings.onnx")
    program = tmp_path / "embeddings.itsa"
    report = call_json("compile", model, "-o", program)
    assert "not compared" not in str(report)
    assert call_json("check", model)["outputs"][0]["ok"]
    assert call_json("run", program)["inputs"][1]["filled"]
    call("bench", program)


def test_an_index_out_of_range_names_node_index_and_limits(tmp_path):
    model = save_embeddings(tmp_path / "embeddings.onnx")
    program = tmp_path / "embeddings.itsa"
    call("compile", model, "-o", program, "--fallback", "none")
    np.save(tmp_path / "ids.npy", np.array([[0, 999, 1000]], np.int64))
    result = call("run", program, "-i", f"ids={tmp_path / 'ids.npy'}", status=2)
    assert "word_embedding" in result.stderr
    assert "index 1000 of its input 1 is out of range -1000 to 999" in result.stderr
    np.save(tmp_path / "ids.npy", np.array([[0, 999, -1000]], np.int64))
    call("run", program, "-i", f"ids={tmp_path / 'ids.npy'}")
