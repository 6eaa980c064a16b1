"""What goes wrong in `intarsia rewrite`: one error, no crash, and outputs that are whole or were not touched.

Covers: src/rewrite/ model_files.cc rewrite_model.cc
cli/commands/ rewrite.cc
"""

import functools
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import rewrite_models
import rewrite_sessions
from cli_models import INTARSIA, call, call_json, error_of, save_relu, without_progress
from google.protobuf.message import DecodeError
from processes import wait_for
from rewritten_models import FAST, count_ops, read_model

import tensorflow as tf


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    rewrite_models.nested(str(path))
    return path


@pytest.fixture(scope="module")
def rewritten(model):
    path = model.parent / "rewritten"
    call("rewrite", model, path, *FAST)
    assert count_ops(path) > 0
    return path


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


# ---- outputs ----


def test_an_output_that_exists_stays(model, rewritten, tmp_path):
    shutil.copytree(model, tmp_path / "model")
    empty, file, link = tmp_path / "empty", tmp_path / "file", tmp_path / "link"
    empty.mkdir()
    file.write_text("text")
    link.symlink_to(tmp_path / "model")
    before = content(tmp_path)
    for output in (tmp_path / "model", f"{tmp_path}/model/", empty, file, link):
        assert "exists" in error_of("rewrite", model, output, status=2)
        assert content(tmp_path) == before and link.is_symlink()


def test_force_replaces_a_model_wholly(model, tmp_path):
    output = tmp_path / "out"
    shutil.copytree(model, output)
    (output / "old").write_text("old")
    (output / "assets" / "deep").mkdir(parents=True)
    call("rewrite", model, output, "--force", *FAST)
    assert count_ops(output) > 0
    assert set(content(output)) - set(content(model)) <= {"assets", "assets/intarsia.so"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_force_replaces_nothing_but_models(model, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").write_text("one")
    (tmp_path / "file").write_text("text")
    before = content(tmp_path)
    for name in ("photos", "file"):
        error_of("rewrite", model, tmp_path / name, "--force", *FAST, status=2)
        assert content(tmp_path) == before


def test_force_through_a_link_and_onto_itself(model, tmp_path):
    shutil.copytree(model, tmp_path / "model")
    (tmp_path / "link").symlink_to("model")
    call("rewrite", tmp_path / "model", tmp_path / "link", "--force", *FAST)
    assert (tmp_path / "link").is_symlink() and count_ops(tmp_path / "model") > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "model"]


def test_force_that_fails_leaves_the_older_model(model, rewritten, tmp_path):
    shutil.copytree(model, tmp_path / "out")
    before = content(tmp_path)
    error_of("rewrite", rewritten, tmp_path / "out", "--force", status=2)
    error_of("rewrite", model, tmp_path / "out", "--force", "--signature", "none", status=2)
    assert content(tmp_path) == before


def test_outputs_that_cannot_be_made(model, tmp_path):
    (tmp_path / "file").write_text("text")
    before = content(tmp_path)
    for output in (tmp_path / "none" / "out", tmp_path / "file" / "out", "/proc/out", "/proc/self/out", ""):
        error_of("rewrite", model, output, *FAST)
    assert content(tmp_path) == before
    if os.getuid() != 0:
        (tmp_path / "folder").mkdir(mode=0o500)
        error_of("rewrite", model, tmp_path / "folder" / "out", *FAST)


def test_an_output_in_the_model(model, tmp_path):
    """It is refused, or made without a copy of itself."""
    shutil.copytree(model, tmp_path / "model")
    before = content(tmp_path / "model")
    done = subprocess.run(
        [INTARSIA, "rewrite", tmp_path / "model", tmp_path / "model" / "out", *FAST],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    after = content(tmp_path / "model")
    if done.returncode == 1:
        assert after == before and without_progress(done.stderr).startswith("error: ")
    else:
        assert done.returncode == 0 and not [
            name for name in after if name.count("out") > 1 or ".new-" in name
        ]


def small_files(limit):
    """Like a full disk: writing fails after some bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


@pytest.mark.parametrize(
    ("limit", "name"), [(100, "older"), (20_000, "new"), (300_000, "older"), (300_000, "new")]
)
def test_a_full_disk(model, tmp_path, limit, name):
    shutil.copytree(model, tmp_path / "older")
    (tmp_path / "temporary").mkdir()
    before = content(tmp_path)
    error_of(
        *("rewrite", model, tmp_path / name, "--force", *FAST),
        preexec_fn=functools.partial(small_files, limit),
        env={"TMPDIR": str(tmp_path / "temporary")},
    )
    assert content(tmp_path) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("wait", [0, 0.3, 1])
def test_a_signal_leaves_nothing(model, tmp_path, number, wait):
    (tmp_path / "temporary").mkdir()
    (tmp_path / "out").mkdir()
    process = subprocess.Popen(
        [INTARSIA, "rewrite", model, tmp_path / "out" / "new"],
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary"), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: any((tmp_path / "out").iterdir()) or process.poll() is not None)
    time.sleep(wait)
    process.send_signal(number)
    sent = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -number and time.monotonic() - sent < 5, (process.returncode, errors)
    assert list((tmp_path / "out").iterdir()) == []
    assert list((tmp_path / "temporary").glob("intarsia*")) == []


# ---- models ----


def test_a_model_that_is_rewritten_already(rewritten, tmp_path):
    assert "rewritten already" in error_of("rewrite", rewritten, tmp_path / "out", status=2)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_signature(model, tmp_path):
    error = error_of("rewrite", model, tmp_path / "out", "--signature", "none", status=2)
    assert "'none'" in error and "serving_default" in error
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_model(model, tmp_path):
    inputs = tmp_path / "inputs"
    (inputs / "empty").mkdir(parents=True)
    (inputs / "text.pb").write_text("text")
    (inputs / "nothing.pb").write_text("")
    (inputs / "folder" / "saved_model.pb").mkdir(parents=True)
    save_relu(inputs / "relu.onnx")
    shutil.copytree(model / "variables", inputs / "variables")
    for name in ("none", "empty", "text.pb", "nothing.pb", "folder", "relu.onnx", "variables"):
        done = subprocess.run(
            [INTARSIA, "rewrite", inputs / name, tmp_path / "out"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode in (1, 2) and done.stderr.count("\n") == 1, (name, done)
        assert done.stderr.startswith("error: ") and str(inputs / name) in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["inputs"]


def test_damage_is_not_wrong_usage(tmp_path):
    """The exit status is that of compile."""
    (tmp_path / "blank").mkdir()
    (tmp_path / "blank" / "saved_model.pb").write_text("")
    for path in (tmp_path / "blank", tmp_path / "none"):
        error_of("compile", path, "-o", tmp_path / "program.so", status=1)
        error_of("rewrite", path, tmp_path / "out", status=1)


def is_readable(model):
    try:
        return bool(read_model(model).meta_graphs)
    except DecodeError:
        return False


def run_damaged(model, output):
    """A damaged model is an error, or else still one that TensorFlow reads."""
    done = subprocess.run(
        [INTARSIA, "rewrite", model, output, "--quiet", *FAST],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )
    lines = without_progress(done.stderr).splitlines()
    if done.returncode in (1, 2):
        # TensorFlow's own readers print what they refuse, too.
        errors = [line for line in lines if line.startswith("error: ")]
        assert len(errors) == 1 and lines[-1] == errors[0], done.stderr
        assert not output.exists()
    else:
        assert done.returncode == 0, (done.returncode, done.stderr)
        if is_readable(model):
            assert is_readable(output)
        shutil.rmtree(output)
    assert [path.name for path in output.parent.iterdir()] == ["damaged"]
    return done.returncode != 0


@pytest.fixture(scope="module")
def small_model(tmp_path_factory):
    """One that is soon rewritten where damage does not matter."""
    path = tmp_path_factory.mktemp("small") / "model"
    module = rewrite_models.Nested()
    module.net, module.other = rewrite_models.Dense(64, 64, 64), rewrite_models.Dense(64, 8)
    tf.saved_model.save(module, str(path), {"serving_default": module.serve})
    return path


@pytest.fixture(scope="module")
def small_session(tmp_path_factory):
    """The same of TensorFlow 1."""
    path, v1 = tmp_path_factory.mktemp("small_session") / "model", tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 64], "x")
        y = rewrite_sessions.stack(x, "net", 64, 64, 8)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(path), {"x": x}, {"y": y})
    return path


def test_a_file_that_is_cut_short(small_model, tmp_path):
    shutil.copytree(small_model, tmp_path / "damaged")
    whole = (small_model / "saved_model.pb").read_bytes()
    places = sorted({0, 1, 2, 3, 10, len(whole) - 1, *range(100, len(whole), len(whole) // 25)})
    for place in places:
        (tmp_path / "damaged" / "saved_model.pb").write_bytes(whole[:place])
        assert run_damaged(tmp_path / "damaged", tmp_path / "out"), place


@pytest.mark.parametrize("kind", ["small_model", "small_session"])
def test_a_file_with_other_bytes(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    chance = random.Random(seed)
    shutil.copytree(model, tmp_path / "damaged")
    whole = (model / "saved_model.pb").read_bytes()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 4, 32])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        (tmp_path / "damaged" / "saved_model.pb").write_bytes(damaged)
        run_damaged(tmp_path / "damaged", tmp_path / "out")


def test_variables_that_are_damaged(small_model, tmp_path):
    shutil.copytree(small_model, tmp_path / "damaged")
    variables = tmp_path / "damaged" / "variables"
    for file in sorted(variables.iterdir()):
        whole = file.read_bytes()
        for damaged in (None, b"", whole[: len(whole) // 2], whole[:-1], bytes(len(whole))):
            file.unlink()
            if damaged is not None:
                file.write_bytes(damaged)
            assert run_damaged(tmp_path / "damaged", tmp_path / "out"), (file.name, damaged and len(damaged))
            file.write_bytes(whole)
    shutil.rmtree(variables)
    assert run_damaged(tmp_path / "damaged", tmp_path / "out")


def test_an_asset_that_is_gone(tmp_path):
    rewrite_models.table_and_texts(str(tmp_path / "damaged"))
    for file in (tmp_path / "damaged" / "assets").iterdir():
        file.unlink()
    run_damaged(tmp_path / "damaged", tmp_path / "out")


def test_a_custom_op_that_is_not_loaded(small_model, tmp_path):
    shutil.copytree(small_model, tmp_path / "model")
    file = tmp_path / "model" / "saved_model.pb"
    file.write_bytes(re.sub(rb"\x12\x04Relu", b"\x12\x04Rely", file.read_bytes()))
    error = error_of("rewrite", tmp_path / "model", tmp_path / "out", status=1)
    assert "Rely" in error and "--op-library" in error
    assert "/none.so" in error_of("rewrite", small_model, tmp_path / "out", "--op-library", "/none.so")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def save_inputs(folder):
    np.save(folder / "x.npy", np.zeros((2, 65), np.float32))
    np.save(folder / "good.npy", np.zeros((2, 64), np.float32))


def test_inputs(small_model, tmp_path):
    save_inputs(tmp_path)
    for given in (f"x={tmp_path / 'none.npy'}", "x"):
        error_of("rewrite", small_model, tmp_path / "out", "-i", given)
        assert not (tmp_path / "out").exists()
    report = call_json("rewrite", small_model, tmp_path / "out", "-i", f"x={tmp_path / 'good.npy'}", *FAST)
    assert [one["not_timed"] for one in report["signatures"]] == [None] or report["replaced"] == []


@pytest.mark.parametrize("given", ["x={}/x.npy", "y={}/good.npy"])
def test_inputs_that_do_not_fit(small_model, tmp_path, given):
    save_inputs(tmp_path)
    done = subprocess.run(
        [INTARSIA, "rewrite", small_model, tmp_path / "out", "-i", given.format(tmp_path), *FAST],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0 and not (tmp_path / "out").exists()


# ---- odd folders ----


def test_links_in_a_model(small_model, tmp_path):
    """As caches of downloads make them."""
    shutil.copytree(small_model, tmp_path / "blobs")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "variables").symlink_to(tmp_path / "blobs" / "variables")
    (tmp_path / "model" / "saved_model.pb").symlink_to("../blobs/saved_model.pb")
    (tmp_path / "model" / "note.txt").symlink_to("../blobs/fingerprint.pb")
    call("rewrite", tmp_path / "model", tmp_path / "out", *FAST)
    assert count_ops(tmp_path / "out") > 0
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_symlink()]
    assert (tmp_path / "out" / "note.txt").read_bytes() == (small_model / "fingerprint.pb").read_bytes()


def test_a_pipe_in_a_model(small_model, tmp_path):
    """Nothing waits for a writer."""
    shutil.copytree(small_model, tmp_path / "model")
    os.mkfifo(tmp_path / "model" / "assets" / "pipe")
    assert "pipe" in error_of("rewrite", tmp_path / "model", tmp_path / "out", *FAST, timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_asset_with_the_name_of_the_program(small_model, tmp_path):
    shutil.copytree(small_model, tmp_path / "model")
    (tmp_path / "model" / "assets" / "intarsia.so").write_text("another")
    call("rewrite", tmp_path / "model", tmp_path / "out", *FAST)
    assert (tmp_path / "out" / "assets" / "intarsia.so").read_text() == "another"
    assert count_ops(tmp_path / "out") > 0
