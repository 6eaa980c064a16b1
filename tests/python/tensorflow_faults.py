"""The op shared by many nodes and threads, and what goes wrong: errors of TensorFlow that name the node; the process lives
on.

Covers: bindings/tensorflow/ artifact.cc library.cc node.cc register.cc
"""

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import intarsia
import intarsia.tensorflow
import numpy as np
import pytest
import tensorflow as tf
from onnx import helper
from tensorflow_programs import FLOAT, addone, compiled, folder, in_new_process, two_outputs

v1 = tf.compat.v1
errors = tf.errors
__all__ = ["addone", "folder", "two_outputs"]  # fixtures

# ---- sharing and threads ----

SHARED = """
import os, sys, threading, time
import numpy as np, tensorflow as tf
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
lib = tf.load_op_library(sys.argv[2])
path, v1 = sys.argv[1], tf.compat.v1

def maps():
    with open("/proc/self/maps") as file:
        return sum(line.rstrip().endswith("/program.so") for line in file)

with v1.Graph().as_default():
    x = v1.placeholder(tf.float32, [None])
    ys = [lib.intarsia(artifact=path, inputs=[x * i], Tout=[tf.float32])[0] for i in range(64)]
    session = v1.Session(config=v1.ConfigProto(inter_op_parallelism_threads=2, intra_op_parallelism_threads=2))
    session.run(tf.add_n(ys), {x: np.zeros(4)})
    before = len(os.listdir("/proc/self/task"))
    workers = [threading.Thread(target=lambda: [session.run(ys, {x: np.zeros(8)}) for _ in range(20)]) for _ in range(8)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    for _ in range(100):  # a thread that was joined may still be ending
        more = len(os.listdir("/proc/self/task")) - before
        if more <= 0: break
        time.sleep(0.1)
    print(maps(), more)
"""


def test_many_nodes_share_one_program_and_its_threads(addone, tmp_path):
    program = shutil.copy(addone, tmp_path / "program.so")
    maps, threads = in_new_process(SHARED, program, intarsia.tensorflow._library_path()).split()
    assert int(maps) <= 1, "constants are mapped once"
    assert int(threads) == 0, "no thread is made for a run"


def test_threads_call_one_function(two_outputs):
    function = intarsia.tensorflow.Module(two_outputs)["main"]
    faults = []

    def work(number):
        for rows in range(1, 40):
            a = np.full((rows, 3), number, "float32")
            made = function(a, a)
            if made["joined"].shape != (2 * rows, 3) or made["product"].numpy()[0, 0] != 9 * number:
                faults.append((number, rows))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


# ---- bad input ----


def op(artifact, inputs, types, **attributes):
    return intarsia.tensorflow._ops().intarsia(artifact=artifact, inputs=inputs, Tout=types, **attributes)


def test_failures_are_errors_of_tensorflow_that_name_the_node(addone, tmp_path):
    x, f32 = tf.zeros(2), [tf.float32]
    damaged, cut = tmp_path / "damaged.so", tmp_path / "cut.so"
    content = Path(addone).read_bytes()
    damaged.write_bytes(content[:-300] + b"\x01\x02" + content[-298:])
    cut.write_bytes(content[:-1])
    cases = [
        ((str(tmp_path / "none.so"), [x], f32), errors.NotFoundError, "none.so': cannot open it"),
        ((str(damaged), [x], f32), errors.DataLossError, "digest does not match"),
        ((str(cut), [x], f32), errors.DataLossError, "truncated"),
        (
            (content[:-1], [x], f32),
            errors.DataLossError,
            "bytes in memory': not an Intarsia program, or truncated",
        ),
        (("", [x], f32), errors.NotFoundError, "cannot open it"),
        (([addone, addone], [x], f32), errors.InvalidArgumentError, "input 'artifact' has rank 1"),
        (
            (addone, [], f32),
            errors.InvalidArgumentError,
            "0 inputs after the artifact, function 'main' has 1",
        ),
        ((addone, [x, x], f32), errors.InvalidArgumentError, "2 inputs after the artifact"),
        ((addone, [x], f32 * 2), errors.InvalidArgumentError, "the op has 2 outputs"),
        ((addone, [tf.zeros(2, tf.int32)], f32), errors.InvalidArgumentError, "dtype int32, want float32"),
        ((addone, [tf.zeros([2, 2])], f32), errors.InvalidArgumentError, "input 'x' has rank 2"),
        ((addone, [x], [tf.int64]), errors.InvalidArgumentError, "the op's Tout says int64"),
        ((addone, [x], [tf.qint8]), errors.InvalidArgumentError, "a type that programs do not have"),
    ]
    for arguments, kind, message in cases:
        with pytest.raises(kind, match=re.escape(message)) as caught:
            op(*arguments)
        assert "node 'Intarsia'" in str(caught.value)
    for attributes, message in (
        ({"function": "other"}, "no function 'other'; the program has: main"),
        ({"threads": -1}, "threads is -1"),
        ({"threads": 1000}, "this machine has"),
        ({"bindings": ["cpu"]}, "binding 'cpu', want SLOT=DEVICE"),
        ({"bindings": ["cpu=nowhere"]}, "nowhere"),
    ):
        with pytest.raises(errors.OpError, match=re.escape(message)):
            op(addone, [x], f32, **attributes)
    np.testing.assert_array_equal(op(addone, [x], f32)[0], [1, 1])


def test_the_error_of_a_graph_names_its_node(addone):
    with v1.Graph().as_default(), v1.Session() as session:
        y = op(addone, [v1.constant([1])], [tf.float32], name="my_node")
        with pytest.raises(errors.InvalidArgumentError, match="node 'my_node': input 'x' has dtype int32"):
            session.run(y)


def test_two_artifacts_of_one_name(addone, two_outputs, tmp_path):
    modules = []
    for number, program in enumerate((addone, two_outputs)):
        (tmp_path / str(number)).mkdir()
        shutil.copy(program, tmp_path / str(number) / "p.so")
        modules.append(intarsia.tensorflow.Module(tmp_path / str(number) / "p.so"))
    np.testing.assert_array_equal(modules[0][None](tf.zeros(1)), [1])
    assert set(modules[1][None](tf.zeros([1, 3]), tf.zeros([1, 3]))) == {"joined", "product"}


def test_outputs_beyond_memory(tmp_path):
    program = compiled(
        tmp_path / "p.so",
        [helper.make_node("Expand", ["x", "shape"], ["y"])],
        [("x", FLOAT, ["n", 1])],
        [("y", FLOAT, ["n", 1 << 20])],
        [("shape", np.array([1, 1 << 20]))],
    )
    function = intarsia.tensorflow.Module(program)[None]
    with pytest.raises(errors.ResourceExhaustedError, match="node 'Intarsia'"):
        function(tf.zeros([1 << 22, 1]))
    assert function(tf.ones([2, 1])).shape == (2, 1 << 20)


AT_EXIT = """
import atexit, sys, tensorflow as tf
lib = tf.load_op_library(sys.argv[2])
run = lambda: lib.intarsia(artifact=sys.argv[1], inputs=[tf.zeros(2)], Tout=[tf.float32])[0].numpy().tolist()
atexit.register(lambda: print(run()))
run()
"""


def test_a_call_while_the_interpreter_ends(addone):
    library = intarsia.tensorflow._library_path()
    assert in_new_process(AT_EXIT, addone, library).splitlines()[0] == "[1.0, 1.0]"


def test_resources_and_references_are_refused(addone):
    with pytest.raises(errors.InvalidArgumentError, match="dtype resource, want float32"):
        op(addone, [tf.Variable([1.0]).handle], [tf.float32])
    with v1.Graph().as_default(), v1.Session() as session:
        variable = v1.Variable([1.0], use_resource=False)
        session.run(variable.initializer)
        y = intarsia.tensorflow.Module(addone)["main"](variable)
        np.testing.assert_array_equal(session.run(y), [2])


def test_python_checks_arguments_first(addone):
    function = intarsia.tensorflow.Module(addone)["main"]
    with pytest.raises(intarsia.InvalidArgumentError, match="function 'main' got no inputs; it takes x"):
        function()
    with pytest.raises(intarsia.InvalidArgumentError, match="got input 0, 'x'; it takes x"):
        function([1.0], x=[1.0])
    with pytest.raises(intarsia.InvalidArgumentError, match="no function 'f'"):
        intarsia.tensorflow.Module(addone)["f"]
    with pytest.raises(intarsia.NotFoundError):
        intarsia.tensorflow.Module("/nowhere/x.so")


def test_a_replaced_file_is_loaded_by_new_nodes(addone, two_outputs, tmp_path):
    path = tmp_path / "p.so"
    shutil.copy(addone, path)
    first = intarsia.tensorflow.Module(path)
    np.testing.assert_array_equal(first[None](tf.zeros(1)), [1])
    shutil.copy(two_outputs, tmp_path / "new.so")
    (tmp_path / "new.so").rename(path)
    second = intarsia.tensorflow.Module(path)
    assert set(second[None](tf.zeros([1, 3]), tf.zeros([1, 3]))) == {"joined", "product"}


FORK = """
import os, sys, numpy as np, tensorflow as tf
lib = tf.load_op_library(sys.argv[2])
run = lambda: lib.intarsia(artifact=sys.argv[1], inputs=[x], Tout=[tf.float32])[0].numpy().tolist()
x = tf.zeros(2)
assert run() == [1, 1]
child = os.fork()
if child == 0:
    os._exit(0 if run() == [1, 1] else 1)
assert os.waitpid(child, 0)[1] == 0
assert run() == [1, 1]
"""


def test_a_child_of_fork(addone):
    in_new_process(FORK, addone, intarsia.tensorflow._library_path())


RANDOM = """
import sys, threading, numpy as np, tensorflow as tf
lib, program, seed = tf.load_op_library(sys.argv[2]), sys.argv[1], int(sys.argv[3])
types = [tf.float32, tf.float64, tf.int32, tf.string, tf.bool, tf.half, tf.complex64, tf.uint8]

def work(number):
    random = np.random.default_rng(seed + number)
    for _ in range(2500):
        count = random.integers(0, 4)
        inputs = []
        for _ in range(count):
            shape = random.integers(0, 5, random.integers(0, 4)).tolist()
            dtype = types[random.integers(len(types))] if random.random() < .6 else tf.float32
            inputs.append(tf.zeros(shape, dtype))
        outs = [types[random.integers(len(types))] if random.random() < .4 else tf.float32 for _ in range(random.integers(0, 4))]
        try:
            lib.intarsia(artifact=program, inputs=inputs, Tout=outs)
            results.append(1)
        except tf.errors.OpError as error:
            results.append(0)

results = []
workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
print(len(results), sum(results))
"""


def test_random_arguments_never_crash(two_outputs):
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    calls, good = map(
        int, in_new_process(RANDOM, two_outputs, intarsia.tensorflow._library_path(), seed).split()
    )
    assert calls == 10000
    assert 0 < good < calls


# ---- the library ----


def test_the_library_needs_nothing_but_tensorflow_and_the_system():
    path = intarsia.tensorflow._library_path()
    dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    system = {
        "libc.so.6",
        "libm.so.6",
        "libstdc++.so.6",
        "libgcc_s.so.1",
        "libdl.so.2",
        "ld-linux-x86-64.so.2",
    }
    assert needed - system == {"libtensorflow_framework.so.2"}
    symbols = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in symbols.splitlines()]
    undefined = {line[-1] for line in lines if line[-2] == "U"}
    foreign = {name for name in undefined if "@" not in name}
    assert foreign and all(name.startswith("TF_") for name in foreign), foreign
    assert {line[-1] for line in lines if line[-2] == "T"} == {"TF_InitKernel", "intarsia_tensorflow_copies"}


def test_importing_tensorflow_prints_nothing_of_ours():
    ran = subprocess.run(
        [sys.executable, "-c", "import tensorflow"], capture_output=True, text=True, check=True
    )
    assert "intarsia" not in (ran.stdout + ran.stderr).lower()
