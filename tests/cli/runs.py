"""intarsia run of models, which are compiled first, and of folders of inputs.

Covers: cli/commands/ run.cc run_folder.cc run_work.cc
cli/system/ temporary_folder.cc
"""

import json
import os
import pty
import subprocess

import numpy as np
import pytest
from cli_models import INTARSIA, call, call_json, compile_small, error_of

REFERENCE = ("--backends", "reference")


@pytest.fixture
def folder(tmp_path):
    """With the model, its program, and an empty folder for temporary files."""
    compile_small(tmp_path)
    (tmp_path / "temporary").mkdir()
    return tmp_path


def run_json(folder, *arguments, **options):
    """Nothing is left behind."""
    report = call_json("run", *arguments, env={"TMPDIR": str(folder / "temporary")}, **options)
    assert list((folder / "temporary").iterdir()) == []
    return report


def test_a_model(folder):
    x = np.random.default_rng(1).random((2, 3, 8, 8), np.float32)
    np.save(folder / "x.npy", x)
    outputs = []
    for path, options in ((folder / "small.so", ()), (folder / "small.onnx", REFERENCE)):
        report = run_json(folder, path, "-i", f"x={folder}/x.npy", "-o", folder / path.suffix[1:], *options)
        outputs.append(np.load(report["outputs"][0]["file"]))
    np.testing.assert_array_equal(*outputs)
    assert report["program"] is None and report["model"] == str(folder / "small.onnx")
    assert run_json(folder, folder / "small.so")["model"] is None
    text = call("run", folder / "small.onnx", *REFERENCE, "--profile", "--runs", 2).stdout
    assert f"{folder}/small.onnx: " in text.replace("\n       ", " ") and "the run, the mean" in text


def test_options_of_a_model_are_those_of_compile(folder):
    model = folder / "small.onnx"
    assert run_json(folder, model, *REFERENCE, "--threads", 1)["compiled_for_threads"] == 1
    report = run_json(folder, model, *REFERENCE, "-d", "accel=sim:0", "--bind", "accel=sim:1")
    assert report["alternative"]["targets"] == "reference@accel"
    message = error_of("run", folder / "small.so", "--tune", "off", status=2)
    assert "--tune says how to compile a model, but a program is given" in message


def test_stages_of_a_model(folder):
    core = min(os.sched_getaffinity(0))
    options = (*REFERENCE, "-d", f"cpu:{core}", "--objective", "throughput", "--cut", "r", "--pipeline")
    report = run_json(folder, folder / "small.onnx", *options, "--runs", 5)
    assert report["pipeline"] == str(folder / "small.onnx") and report["frames"] == 5
    assert len(report["stages"]) == 2


def test_what_is_neither(folder):
    assert "nothing.so" in error_of("run", folder / "nothing.so")
    assert "nothing.onnx" in error_of("run", folder / "nothing.onnx")
    (folder / "plan.json").write_text(json.dumps({"plan": 1}))
    assert "is a JSON file" in error_of("run", folder / "plan.json")
    assert "want a program or model" in error_of("run", status=2)


@pytest.fixture
def arrays(folder):
    """Inputs of the model in a folder, by the names of their files, and what the program makes of each."""
    (folder / "arrays").mkdir()
    wanted = {}
    for seed, name in enumerate(["b.npy", "a.npy", "c d.npy", "e.raw"]):
        x = np.random.default_rng(seed).random((2, 3, 8, 8), np.float32)
        np.save(folder / "x.npy", x)
        if name.endswith(".raw"):
            x.tofile(folder / "arrays" / name)
        else:
            np.save(folder / "arrays" / name, x)
        report = call_json("run", folder / "small.so", "-i", folder / "x.npy", "-o", folder / "one")
        wanted[name] = np.load(report["outputs"][0]["file"])
    (folder / "arrays/labels.txt").write_text("cats")
    (folder / "arrays/.hidden.npy").write_text("")
    return wanted


def test_a_folder_is_a_run_for_each_file(folder, arrays):
    for source, text in ((folder / "arrays", ""), (f"{folder}/arrays/", "x=")):
        report = run_json(folder, folder / "small.so", "-i", f"{text}{source}", "-o", folder / "out")
        assert [os.path.basename(entry["file"]) for entry in report["files"]] == sorted(arrays)
        assert report["left_out"] == ["labels.txt"] and report["outputs"] == []
        for entry in report["files"]:
            [output] = entry["outputs"]
            name = os.path.basename(entry["file"])
            assert output["file"] == f"{folder}/out/{name.replace(' ', '_')}/y.npy"
            np.testing.assert_array_equal(np.load(output["file"]), arrays[name])
            assert entry["inputs"][0]["filled"] is False and entry["milliseconds"] > 0
    text = call("run", folder / "small.onnx", "-i", folder / "arrays", *REFERENCE, "--threads", 1).stdout
    assert text.count("\noutput y: f32[2,5] = ") == 4
    text = " ".join(text.split())
    assert "small.onnx: 4 files, " in text and "on 1 thread, the median" in text
    assert "left out, since they are no inputs: labels.txt" in text


def test_a_bad_file_keeps_what_was_done_before(folder, arrays):
    (folder / "arrays/b.png").write_bytes(b"no picture")
    message = error_of("run", folder / "small.so", "-i", folder / "arrays", "-o", folder / "out")
    assert f"{folder}/arrays/b.png" in message and "(2 of 5 files were run before it)" in message
    assert sorted(os.listdir(folder / "out")) == ["a.npy", "b.npy"]
    np.testing.assert_array_equal(np.load(folder / "out/a.npy/y.npy"), arrays["a.npy"])
    (folder / "arrays/b.png").unlink()
    np.save(folder / "arrays/b0.npy", np.zeros((2, 3), np.float32))
    message = error_of("run", folder / "small.so", "-i", folder / "arrays", status=2)
    assert f"{folder}/arrays/b0.npy: " in message


def test_progress_of_a_folder(folder, arrays):
    terminal, other = pty.openpty()
    command = [INTARSIA, "run", folder / "small.so", "-i", folder / "arrays"]
    done = subprocess.run(command, stderr=other, stdout=subprocess.PIPE, text=True, check=True)
    os.close(other)
    shown = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert "  25% b.npy" in shown and "[#######   " in shown and "%" not in done.stdout
    assert call(*command[1:]).stderr == ""


def test_folders_that_are_wrong(folder, arrays):
    program = folder / "small.so"
    (folder / "empty").mkdir()
    assert "holds no input" in error_of("run", program, "-i", folder / "empty", status=2)
    message = error_of("run", program, "-i", folder / "arrays", "--runs", 3, status=2)
    assert "--runs: want one input" in message
    message = error_of("run", program, "-i", folder / "arrays", "-i", f"x={folder}/empty", status=2)
    assert "two inputs are folders" in message
    assert "it is a folder" in error_of("check", program, "-i", folder / "arrays")
    message = error_of("run", program, "-i", f"z={folder}/arrays", status=2)
    assert "no input 'z'" in message
