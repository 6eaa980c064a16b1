"""Code is generated in separate processes: what happens there stays there, and a compile can be stopped at any time.

Covers: backends/halide/emit/ codegen_pool.cc codegen_worker.cc message_stream.cc
cli/system/ interrupt.cc
bindings/python/ compile_module.cc
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from cli_models import INTARSIA, TensorProto, call_json, helper, numpy_helper, save
from processes import is_gone, wait_for, workers_of

WORKER = "intarsia-codegen"


@pytest.fixture
def model(tmp_path):
    """Convolutions of many sizes: code for it takes many seconds."""
    rng = np.random.default_rng(1)
    nodes, weights, channels = [], [], 8
    for i in range(40):
        to = 16 + 4 * i
        weights.append(
            numpy_helper.from_array(
                rng.standard_normal((to, channels, 3, 3)).astype(np.float32) / 50, f"w{i}"
            )
        )
        nodes.append(
            helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"x{i + 1}"], f"conv{i}", pads=[1, 1, 1, 1])
        )
        channels = to
    return save(
        tmp_path / "model.onnx",
        nodes,
        [("x0", TensorProto.FLOAT, [1, 8, 20, 20])],
        [(f"x{len(nodes)}", TensorProto.FLOAT, [1, channels, 20, 20])],
        weights,
    )


@pytest.fixture
def environment(tmp_path):
    """With temporary files and measured times in the test's own folders."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return {**os.environ, "TMPDIR": str(folder), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def left_in(tmp_path):
    """Temporary files of ours."""
    return list((tmp_path / "temporary").glob("intarsia*"))


def start_compile(model, environment, *options):
    process = subprocess.Popen(
        [INTARSIA, "compile", model, "-o", model.parent / "program.so", *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: workers_of(process.pid, WORKER))
    time.sleep(0.3)  # until they are at work
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_and_leaves_nothing(model, environment, number, tmp_path):
    process = start_compile(model, environment)
    workers = workers_of(process.pid, WORKER)
    sent = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -number and time.monotonic() - sent < 2, err
    wait_for(lambda: all(map(is_gone, workers)), 2)
    assert not left_in(tmp_path) and not list(tmp_path.glob("program.so*"))


def test_a_killed_command_ends_its_workers(model, environment, tmp_path):
    process = start_compile(model, environment)
    workers = workers_of(process.pid, WORKER)
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: all(map(is_gone, workers)), 2)
    assert not left_in(tmp_path)


def test_a_worker_that_dies_costs_one_kernel(model, environment):
    process = start_compile(model, environment, "--json", "--tune", "off")
    for worker in workers_of(process.pid, WORKER):
        os.kill(worker, signal.SIGABRT)  # as LLVM ends its process
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert call_json("check", model.parent / "program.so", "--rtol", "1e-2")["ok"]


def test_a_place_without_room_for_code_is_an_error(model, environment):
    # Files may have 1 KB: LLVM ends its process when it cannot write.
    command = [
        "sh",
        "-c",
        'trap "" XFSZ; ulimit -f 2; exec "$@"',
        "sh",
        INTARSIA,
        "compile",
        model,
        "-o",
        model.parent / "program.so",
        "-q",
        "--tune",
        "off",
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (
        done.returncode == 1 and done.stderr.count("\n") == 1 and "no code for the kernel" in done.stderr
    ), (done.returncode, done.stderr)


PYTHON = """
import os, signal, sys, threading, time
import intarsia
sent = []
def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(1.5, interrupt).start()
progress = {progress}
try:
    intarsia.compile(sys.argv[1], progress=progress)
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
"""


@pytest.mark.parametrize("progress", ["None", "lambda phase, done, total: None"])
def test_ctrl_c_in_python_is_keyboard_interrupt(model, environment, progress, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PYTHON.format(progress=progress), model],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2
    assert not left_in(tmp_path)


def test_an_exception_of_a_progress_callback_comes_out(model, environment):
    code = "import sys, intarsia\ndef progress(phase, done, total): raise KeyError('mine')\nintarsia.compile(sys.argv[1], progress=progress)"
    done = subprocess.run(
        [sys.executable, "-c", code, model], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1 and done.stderr.rstrip().endswith("KeyError: 'mine'"), done.stderr
