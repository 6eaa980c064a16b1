"""TensorFlow models that are damaged, or that cannot be compiled: one line that says what is wrong; never a crash.

Covers: src/import/ import_tensorflow.cc
src/tensorflow/ messages.cc tensor_proto.cc
backends/tensorflow/ saved_model.cc
"""

import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys

import pytest
from tensorflow_tools import MODELS, command_options, model_path

from cli_models import INTARSIA, call
from rounds import ROUNDS

PLACES = 10 * ROUNDS
SECONDS = 60  # far more than any of these compiles takes


@pytest.fixture
def damaged(tmp_path):
    """A copy of a model that may be damaged: damaged(name) -> path."""

    def copy(name):
        path = model_path(name)
        to = tmp_path / path.name
        return shutil.copytree(path, to) if path.is_dir() else shutil.copy(path, to)

    return copy


def compile_error(path, *options, status=1):
    """The line on stderr. No file may be left behind."""
    before = sorted(path.parent.iterdir())
    message = call(
        "compile",
        path,
        "-o",
        path.parent / "out.so",
        *([] if "--tune" in options else ["--tune", "off"]),
        *options,
        status=status,
    ).stderr
    assert sorted(path.parent.iterdir()) == before and "Traceback" not in message
    return message


def test_truncated_saved_model(damaged):
    path = damaged("two_signatures")
    file = path / "saved_model.pb"
    whole = file.read_bytes()
    for size in (0, 1, 2, 3, 10, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert str(path) in compile_error(path, "--signature", "encode"), size


def test_truncated_frozen_graph(damaged):
    path = damaged("frozen")
    whole = path.read_bytes()
    for size in (0, 1, 2, 3, 10, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert str(path) in compile_error(path), size


def test_no_saved_model_in_the_folder(damaged):
    path = damaged("two_signatures")
    (path / "saved_model.pb").unlink()
    assert "saved_model.pb" in compile_error(path)


@pytest.mark.parametrize("file", ("variables.index", "variables.data-00000-of-00001"))
@pytest.mark.parametrize(
    "size", (None, 0, 10, 0.5, 0.95), ids=("missing", "empty", "10_bytes", "half", "most")
)
def test_damaged_variables(damaged, file, size):
    path = damaged("two_signatures")
    variables = path / "variables" / file
    whole = variables.read_bytes()
    variables.unlink()
    if size is not None:
        variables.write_bytes(whole[: size if isinstance(size, int) else int(size * len(whole))])
    assert "variables" in compile_error(path, "--signature", "classify")


def test_missing_variables(damaged):
    path = damaged("two_signatures")
    shutil.rmtree(path / "variables")
    assert "variables" in compile_error(path, "--signature", "classify")


def test_changed_weights(damaged):
    """The checkpoint's own digests find flipped bits."""
    path = damaged("two_signatures")
    variables = path / "variables/variables.data-00000-of-00001"
    whole = bytearray(variables.read_bytes())
    whole[len(whole) // 3] ^= 64
    variables.write_bytes(whole)
    assert "variables" in compile_error(path, "--signature", "classify")


def test_missing_asset(damaged):
    path = damaged("text_table")
    (asset,) = (path / "assets").iterdir()
    asset.unlink()
    assert asset.name in compile_error(path, *command_options("text_table", "serving_default"))


@pytest.mark.parametrize(
    "name,file,signature",
    (
        ("two_signatures", "variables/variables.index", "classify"),
        ("text_table", "assets", "serving_default"),
    ),
)
def test_pipes_in_a_saved_model(damaged, name, file, signature):
    """TensorFlow would wait for a writer."""
    file = damaged(name) / file
    if file.is_dir():
        (file,) = file.iterdir()
    file.unlink()
    os.mkfifo(file)
    message = call(
        "compile",
        file.parents[1],
        *command_options(name, signature),
        cwd=file.parents[2],
        status=1,
        timeout=60,
    ).stderr
    assert file.name in message and "it is a pipe" in message


def test_missing_signature(damaged):
    message = compile_error(damaged("two_signatures"), "--signature", "nothing", status=2)
    assert "nothing" in message and "encode" in message and "classify" in message


def test_operator_library(damaged, tmp_path):
    path = damaged("custom_op")
    assert "SquashedCube" in compile_error(path)
    options = [
        option
        for option in command_options("custom_op", "serving_default")
        if option not in ("--op-library", MODELS / "custom_op.so")
    ]
    garbage = tmp_path / "garbage.so"
    garbage.write_bytes(b"\x7fELF" + bytes(100))
    for library in (tmp_path / "missing.so", garbage, tmp_path):
        assert str(library) in compile_error(path, *options, "--op-library", library)


def test_operator_library_missing_at_load(tmp_path):
    """The program says which library it needs."""
    library, program = tmp_path / "library.so", tmp_path / "program.so"
    shutil.copy(MODELS / "custom_op.so", library)
    options = [
        library if option == MODELS / "custom_op.so" else option
        for option in command_options("custom_op", "serving_default")
    ]
    call("compile", model_path("custom_op"), "-o", program, *options)
    call("run", program)
    library.unlink()
    assert str(library) in call("run", program, status=1).stderr


def test_stateful_model(damaged):
    message = compile_error(damaged("stateful"))
    assert "AssignAddVariableOp" in message or "counter" in message


VARIABLE = """
import sys
import tensorflow as tf
v1 = tf.compat.v1
with tf.Graph().as_default(), v1.Session() as session:
    x = v1.placeholder(tf.float32, [2, 3], "x")
    y = x @ v1.get_variable("weights", [3, 4], use_resource=sys.argv[2] == "resource")
    session.run(v1.global_variables_initializer())
    v1.saved_model.simple_save(session, sys.argv[1], {"x": x}, {"y": y})
"""


@pytest.mark.parametrize("kind", ("resource", "reference"))
def test_variables_of_version_1(kind, tmp_path):
    path = tmp_path / "model"
    done = subprocess.run([sys.executable, "-c", VARIABLE, path, kind], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if kind == "resource":
        call("check", path, "--tune", "off", "--against", "tensorflow")
    else:
        message = compile_error(path)
        assert "'weights' is a reference variable" in message and "enable_resource_variables" in message


def test_no_tensorflow_model(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    text = tmp_path / "text.pb"
    text.write_text("no graph at all\n")
    for path in (empty, text, tmp_path / "missing.pb"):
        assert str(path) in compile_error(path)


# Bytes flipped or cut at seeded places: the model compiles, or there is one error; nothing crashes or hangs.


def damage(whole, seed):
    generator = random.Random(seed)
    place = generator.randrange(len(whole))
    if generator.random() < 0.25:
        return whole[:place]
    changed = bytearray(whole)
    changed[place] = (
        generator.randrange(256) if generator.random() < 0.5 else changed[place] ^ 1 << generator.randrange(8)
    )
    return bytes(changed)


def call_damaged(*arguments):
    """The exit status; fails if it is not one of ours or if an error is not one line."""
    try:
        done = subprocess.run(
            [INTARSIA, *map(str, arguments)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"hangs: {arguments}", pytrace=False)
    assert done.returncode in (0, 1, 2), (arguments, done.returncode, done.stderr)
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        assert len(lines) == 1 and lines[0].startswith("error: "), (arguments, done.stderr)
    else:
        json.loads(done.stdout)
    return done.returncode


def compile_damaged(name, file, folder, seed, options):
    """Compiles a copy in which `file` (empty: the model itself) is damaged at one place; what compiles is also run, unless
    it has a loop that the damage may have made endless. Returns the exit statuses."""
    folder.mkdir()
    path = model_path(name)
    copy = folder / path.name
    if path.is_dir():
        shutil.copytree(path, copy)
    target = copy / file if file else copy
    target.write_bytes(damage((path / file if file else path).read_bytes(), seed))
    program = folder / "program.so"
    statuses = [call_damaged("compile", copy, "-o", program, "--tune", "off", "--json", *options)]
    if statuses == [0] and name != "frozen_v1":
        statuses.append(call_damaged("run", program, "--json"))
    shutil.rmtree(folder)
    return statuses


@pytest.mark.parametrize(
    "name, file, options",
    (
        ("two_signatures", "saved_model.pb", ("--signature", "classify")),
        ("two_signatures", "variables/variables.index", ("--signature", "encode")),
        ("frozen", "", ()),
        ("frozen_v1", "", ()),
    ),
    ids=lambda one: "" if isinstance(one, tuple) else one.replace("/", "_"),
)
def test_damage_at_many_places(name, file, options, tmp_path):
    """Without our compiler, which the importer's output does not depend on and which takes the most time."""
    options = (*options, "--backends", "tensorflow,reference")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(
            pool.map(
                lambda seed: compile_damaged(name, file, tmp_path / str(seed), seed, options), range(PLACES)
            )
        )
    compiled = sum(statuses[0] == 0 for statuses in done)
    print(f"{name} {file}: {compiled} of {PLACES} compiled")
    assert 0 < compiled < PLACES
