"""The op on workers of TensorFlow in other processes: with its library they need neither files nor code of ours, without it
TensorFlow names the op.

Covers: bindings/tensorflow/ register.cc
"""

import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import intarsia
import intarsia.tensorflow
import numpy as np
import pytest
import tensorflow as tf
from cli_models import save
from onnx import TensorProto, helper

v1 = tf.compat.v1

WORKER = """
import os, socket, sys
os.chdir("/")
if sys.argv[1:]:  # the packages under a name that TensorFlow does not take for a folder with plug-ins
    sys.path.append(sys.argv[1])
import tensorflow as tf
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
server = tf.distribute.Server({"worker": [f"127.0.0.1:{port}"]}, job_name="worker", task_index=0)
assert "intarsia" not in sys.modules
print("target", server.target, flush=True)
sys.stdin.read()
"""


class Worker:
    """A process with a server of TensorFlow on the loopback, until the end of a `with` block."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self):
        line = next(line for line in self.process.stdout if line.startswith("target"))
        return line.split()[1]

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def addone(tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "addone.so"
    nodes = [helper.make_node("Add", ["x", "one"], ["y"])]
    one = [("one", np.float32(1))]
    tensor = ("x", TensorProto.FLOAT, ["n"]), ("y", TensorProto.FLOAT, ["n"])
    model = save(path.with_suffix(".onnx"), nodes, [tensor[0]], [tensor[1]], one)
    intarsia.compile(model, tune="off", backends=["halide"]).save(path)
    return path


def run_in_session(target, program):
    with v1.Graph().as_default(), v1.Session(target) as session:
        x = v1.placeholder(tf.float32, [None])
        with tf.device("/job:worker/task:0"):
            y = intarsia.tensorflow.Module(program.read_bytes())["main"](x)
        return session.run(y, {x: [1, 2, 3]})


def test_a_session_on_a_worker_that_imports_only_tensorflow(addone, tmp_path):
    program = tmp_path / "program.so"
    program.write_bytes(addone.read_bytes())
    with Worker(sys.executable, "-c", WORKER) as target:
        np.testing.assert_array_equal(run_in_session(target, program), [2, 3, 4])


def test_a_worker_without_the_library_names_the_op(addone, tmp_path):
    packages = Path(np.__file__).parents[1]
    links = tmp_path / "packages"
    links.mkdir()
    for entry in packages.iterdir():
        if entry.name != "tensorflow-plugins" and entry.suffix != ".pth":
            (links / entry.name).symlink_to(entry)
    python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    with (
        Worker(python, "-S", "-c", WORKER, links) as target,
        pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'Intarsia'"),
    ):
        run_in_session(target, addone)


EAGER = """
import sys, tensorflow as tf, intarsia.tensorflow
tf.config.experimental_connect_to_host(sys.argv[1].removeprefix("grpc://"))
function = intarsia.tensorflow.Module(open(sys.argv[2], "rb").read())["main"]
with tf.device("/job:worker/replica:0/task:0/device:CPU:0"):
    y = function(tf.constant([1., 2.]))
    assert "job:worker" in y.device, y.device
    print(y.numpy().tolist(), tf.function(function)(tf.constant([5.])).numpy().tolist())
"""


def test_eager_code_on_a_worker(addone):
    with Worker(sys.executable, "-c", WORKER) as target:
        ran = subprocess.run(
            [sys.executable, "-c", EAGER, target, addone], capture_output=True, text=True, timeout=120
        )
    assert ran.stdout == "[2.0, 3.0] [6.0]\n", ran.stderr
