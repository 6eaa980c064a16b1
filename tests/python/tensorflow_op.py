"""Compiled programs as ops of TensorFlow: eager, tf.function, Keras, SavedModels, tf.data and TensorFlow 1, with errors
that name the node, and the process's threads and copies.

Covers: bindings/tensorflow/ artifact.cc library.cc node.cc run.cc tensorflow_string.cc
bindings/python/intarsia/ size_expressions.py tensorflow.py
"""

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import intarsia
import intarsia.tensorflow
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from cli_models import save
from intarsia.size_expressions import evaluate_size
from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT
v1 = tf.compat.v1
errors = tf.errors


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


def compiled(path, nodes, inputs, outputs, constants=(), **options):
    model = save(path.with_suffix(".onnx"), nodes, inputs, outputs, constants)
    intarsia.compile(model, **{"tune": "off", "backends": ["reference"]} | options).save(path)
    return str(path)


@pytest.fixture(scope="module")
def addone(folder):
    """y = x + 1, of any length."""
    nodes = [helper.make_node("Add", ["x", "one"], ["y"])]
    return compiled(
        folder / "addone.so",
        nodes,
        [("x", FLOAT, ["n"])],
        [("y", FLOAT, ["n"])],
        [("one", np.float32(1))],
        backends=["halide"],
    )


@pytest.fixture(scope="module")
def two_outputs(folder):
    """joined = concat(a, b) along the rows, product = a @ transpose(w)."""
    nodes = [
        helper.make_node("Concat", ["a", "b"], ["joined"], axis=0),
        helper.make_node("MatMul", ["a", "w"], ["product"]),
    ]
    return compiled(
        folder / "two.so",
        nodes,
        [("a", FLOAT, ["rows", 3]), ("b", FLOAT, ["more", 3])],
        [("joined", FLOAT, [None, 3]), ("product", FLOAT, ["rows", 2])],
        [("w", np.array([[1, 2], [3, 4], [5, 6]], "float32"))],
    )


def in_new_process(code, *arguments, **variables):
    """Runs Python code in a process of its own; returns its output, and all of it if it fails."""
    ran = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2"} | variables,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


# ---- where it runs ----


def test_eager(addone):
    module = intarsia.tensorflow.Module(addone)
    assert module.functions == ["main"]
    for size in (0, 1, 7, 1000):
        x = np.arange(size, dtype="float32")
        np.testing.assert_array_equal(module["main"](x), x + 1)
        np.testing.assert_array_equal(module[None](x=tf.constant(x)), x + 1)


def test_two_outputs_are_a_dict(two_outputs):
    a, b = np.ones((4, 3), "float32"), np.zeros((2, 3), "float32")
    made = intarsia.tensorflow.Module(two_outputs)["main"](a, b=b)
    np.testing.assert_array_equal(made["joined"], np.concatenate([a, b]))
    np.testing.assert_array_equal(made["product"], [[9, 12]] * 4)


def test_a_function_is_traced_once_for_a_rank(addone):
    function = intarsia.tensorflow.Module(addone)["main"]
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def run(x):
        y = function(x)
        traces.append(y.shape.as_list())
        return y

    for size in (3, 5, 8):
        np.testing.assert_array_equal(run(tf.zeros([size])), np.ones(size))
    assert traces == [[None]]


def test_static_shapes_follow_from_the_artifact(two_outputs):
    function = intarsia.tensorflow.Module(two_outputs)["main"]
    shapes = {}

    def trace(a_shape, b_shape):
        @tf.function(input_signature=[tf.TensorSpec(a_shape), tf.TensorSpec(b_shape)])
        def run(a, b):
            shapes.update({name: tensor.shape for name, tensor in function(a, b).items()})

        run.get_concrete_function()
        return [shapes[name].as_list() for name in ("joined", "product")]

    assert trace([4, 3], [2, 3]) == [[6, 3], [4, 2]]
    assert trace([4, 3], [None, 3]) == [[None, 3], [4, 2]]
    assert trace([None, 3], None) == [[None, 3], [None, 2]]
    assert trace(None, None) == [[None, 3], [None, 2]]


def test_size_expressions():
    sizes = {"a": 7, "b": 2}
    cases = {
        "a": 7,
        "a+1": 8,
        "2*a-b": 12,
        "floor_div(a-1,2)": 3,
        "max(a-9,0)": 0,
        "-a+b": -5,
        "floor_div(-a,2)": -4,
        "c+1": None,
        "a b": None,
        "__import__(a,b)": None,
        "a/b": None,
        "floor_div(a,0)": None,
    }
    assert {text: evaluate_size(text, sizes) for text in cases} == cases


def test_tensorflow_1(addone):
    for source in (addone, Path(addone).read_bytes()):
        with v1.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None])
            y = intarsia.tensorflow.Module(source)["main"](x)
            np.testing.assert_array_equal(session.run(y, {x: [1, 2]}), [2, 3])
            np.testing.assert_array_equal(session.run(y, {x: [5]}), [6])


def test_call(addone, two_outputs):
    np.testing.assert_array_equal(intarsia.tensorflow.call(addone, "main", [tf.zeros(2)]), [1, 1])
    np.testing.assert_array_equal(
        intarsia.tensorflow.call(addone, None, tf.zeros(2), output_shape=[None], output_dtype=tf.float32),
        [1, 1],
    )
    joined, product = intarsia.tensorflow.call(two_outputs, "main", [tf.zeros([1, 3]), tf.zeros([1, 3])])
    assert (joined.shape, product.shape) == ((2, 3), (1, 2))
    with pytest.raises(errors.InvalidArgumentError):
        intarsia.tensorflow.call(addone, None, tf.zeros(2), output_shape=[3], output_dtype=tf.float32)


def test_a_dataset(addone):
    function = intarsia.tensorflow.Module(addone)["main"]
    data = tf.data.Dataset.range(20).map(lambda i: function(tf.cast([i], tf.float32)), num_parallel_calls=4)
    assert [int(row[0]) for row in data] == list(range(1, 21))


RUN_SAVED = """
import sys, tensorflow as tf
run = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
print(run(x=tf.constant([1., 2.]))["y"].numpy().tolist(), "intarsia" in sys.modules)
"""


@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_saved_model_runs_where_only_tensorflow_is_imported(addone, tmp_path, as_bytes):
    program = shutil.copy(addone, tmp_path / "addone.so")
    module = intarsia.tensorflow.Module(Path(program).read_bytes() if as_bytes else program)
    served = module["main"].signature
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures={"serving_default": served})
    (tmp_path / "addone.so").unlink()
    (tmp_path / "saved").rename(tmp_path / "moved")
    assert in_new_process(RUN_SAVED, tmp_path / "moved") == "[2.0, 3.0] False\n"


def test_a_keras_model(addone, tmp_path):
    program = shutil.copy(addone, tmp_path / "addone.so")
    inputs = tf.keras.Input([4])
    flat = tf.keras.layers.Lambda(lambda x: tf.reshape(x, [-1]), output_shape=())(inputs)
    middle = intarsia.tensorflow.Layer(program, name="ours")(flat)
    model = tf.keras.Model(inputs, middle)
    x = np.arange(8, dtype="float32").reshape(2, 4)
    np.testing.assert_array_equal(model(x), x.ravel() + 1)
    model.export(str(tmp_path / "exported"), verbose=False)
    (tmp_path / "addone.so").unlink()
    (tmp_path / "exported").rename(tmp_path / "moved")
    np.testing.assert_array_equal(tf.saved_model.load(str(tmp_path / "moved")).serve(x), x.ravel() + 1)


def test_a_keras_layer_is_saved_with_its_program(two_outputs, tmp_path):
    program = shutil.copy(two_outputs, tmp_path / "two.so")
    sides = [tf.keras.Input([3]), tf.keras.Input([3])]
    made = intarsia.tensorflow.Layer(program, threads=1)(sides)
    assert made["product"].shape == (None, 2)
    model = tf.keras.Model(sides, made)
    model.save(tmp_path / "m.keras")
    (tmp_path / "two.so").unlink()
    again = tf.keras.models.load_model(tmp_path / "m.keras")
    a, b = np.ones((2, 3), "float32"), np.zeros((2, 3), "float32")
    np.testing.assert_array_equal(again([a, b])["joined"], np.concatenate([a, b]))
    np.testing.assert_array_equal(again.predict([a, b], verbose=0)["product"], [[9, 12]] * 2)


def test_a_program_with_a_region_of_tensorflow_runs_inside_tensorflow(tmp_path):
    class Doubled(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
        def __call__(self, x):
            return {"y": tf.math.bessel_i0(x) * 2}

    tf.saved_model.save(Doubled(), str(tmp_path / "saved"))
    intarsia.compile(tmp_path / "saved", tune="off", backends=["tensorflow"]).save(tmp_path / "p.so")
    x = np.linspace(0, 1, 5, dtype="float32")
    made = intarsia.tensorflow.Module(tmp_path / "p.so")[None](x)
    np.testing.assert_allclose(made, 2 * np.i0(x), rtol=1e-5)


def test_slots_are_bound_by_an_attribute(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    program = compiled(
        tmp_path / "sim.so",
        nodes,
        [("x", FLOAT, [4])],
        [("y", FLOAT, [4])],
        devices=["cpu", "accel=sim:0"],
        pins={"*": "reference@accel"},
    )
    module = intarsia.tensorflow.Module(program, bindings={"accel": "sim:1"})
    np.testing.assert_array_equal(module[None]([-1.0, 2, -3, 4]), [0, 2, 0, 4])
    with pytest.raises(errors.InvalidArgumentError, match="no slot 'gpu'"):
        intarsia.tensorflow.Module(program, bindings={"gpu": "sim:1"})[None](tf.zeros(4))


def test_a_device_of_a_plug_in_runs_inside_tensorflow(tmp_path):
    plugin = Path(os.environ["INTARSIA_TEST_PLUGINS"], "libtoy_npu.so")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["y"])]
    tensors = [("x", FLOAT, [1, 1, 1, 4])], [("y", FLOAT, [1, 1, 1, 4])]
    model = save(tmp_path / "p.onnx", nodes, *tensors, [("w", np.full([1, 1, 1, 1], 2, "float32"))])
    compile_it = f"""
import intarsia, sys
intarsia.load_plugin({str(plugin)!r})
intarsia.compile({str(model)!r}, tune="off", devices=["cpu", "npu=toy_npu:0"],
                 pins={{"*": "toy_npu@npu"}}).save({str(tmp_path / "p.so")!r})
"""
    in_new_process(compile_it)
    run_it = """
import sys, tensorflow as tf
lib = tf.load_op_library(sys.argv[2])
run = lambda device: lib.intarsia(artifact=sys.argv[1], inputs=[tf.constant([[[[-1., 2, 0, 3]]]])], Tout=[tf.float32],
                                  bindings=["npu=" + device])[0].numpy().tolist()
print(run("toy_npu:0"))
"""
    library = intarsia.tensorflow._library_path()
    made = in_new_process(run_it, tmp_path / "p.so", library, INTARSIA_PLUGINS=str(plugin))
    assert made == "[[[[0.0, 4.0, 0.0, 6.0]]]]\n"


def test_an_opencl_device_runs_inside_tensorflow(tmp_path):
    if not any(name.startswith("opencl:") for name, *_ in intarsia.devices()):
        pytest.skip("no OpenCL device")
    program = compiled(
        tmp_path / "cl.so",
        [helper.make_node("Add", ["x", "x"], ["r"]), helper.make_node("Relu", ["r"], ["y"])],
        [("x", FLOAT, [64])],
        [("y", FLOAT, [64])],
        backends=["halide"],
        devices=["cpu", "accel=opencl:0"],
        pins={"*": "halide@accel"},
    )
    x = np.linspace(-1, 1, 64, dtype="float32")
    made = intarsia.tensorflow.Module(program, bindings={"accel": "opencl:0"})[None](x)
    np.testing.assert_array_equal(made, np.maximum(2 * x, 0))


C_PROCESS = """
import ctypes, sys
tf = ctypes.CDLL(sys.argv[1])
for name in ("TF_NewStatus", "TF_NewSessionOptions", "TF_NewGraph", "TF_LoadLibrary", "TF_LoadSessionFromSavedModel", "TF_AllocateTensor",
             "TF_TensorData", "TF_GraphOperationByName", "TF_Message"):
    getattr(tf, name).restype = ctypes.c_void_p
tf.TF_Message.restype = ctypes.c_char_p
pointer = ctypes.c_void_p
status = pointer(tf.TF_NewStatus())

def check():
    assert tf.TF_GetCode(status) == 0, tf.TF_Message(status)

class Output(ctypes.Structure):
    _fields_ = [("operation", pointer), ("index", ctypes.c_int)]

tf.TF_LoadLibrary(sys.argv[2].encode(), status)
check()
graph = pointer(tf.TF_NewGraph())
tags = (ctypes.c_char_p * 1)(b"serve")
session = pointer(tf.TF_LoadSessionFromSavedModel(pointer(tf.TF_NewSessionOptions()), None, sys.argv[3].encode(), tags, 1, graph, None, status))
check()
x = pointer(tf.TF_AllocateTensor(1, (ctypes.c_int64 * 1)(3), 1, ctypes.c_size_t(12)))
ctypes.memmove(tf.TF_TensorData(x), (ctypes.c_float * 3)(1, 2, 3), 12)
find = lambda name: pointer(tf.TF_GraphOperationByName(graph, name))
inputs, outputs = Output(find(b"serving_default_x"), 0), Output(find(sys.argv[4].encode()), 0)
made = pointer()
tf.TF_SessionRun(session, None, ctypes.byref(inputs), ctypes.byref(x), 1, ctypes.byref(outputs), ctypes.byref(made), 1, None, 0, None, status)
check()
print(list((ctypes.c_float * 3).from_address(tf.TF_TensorData(made))), "numpy" in sys.modules)
"""


def test_a_process_of_tensorflows_c_api(addone, tmp_path):
    module = intarsia.tensorflow.Module(addone)
    folder = str(tmp_path / "saved")
    tf.saved_model.save(module, folder, signatures={"serving_default": module["main"].signature})
    with v1.Session(graph=v1.Graph()) as session:
        signatures = v1.saved_model.load(session, ["serve"], folder).signature_def
    output = signatures["serving_default"].outputs["y"].name.split(":")[0]
    framework = Path(tf.__file__).parent / "libtensorflow_cc.so.2"
    made = in_new_process(C_PROCESS, framework, intarsia.tensorflow._library_path(), folder, output)
    assert made.splitlines()[-1] == "[2.0, 3.0, 4.0] False"


# ---- values ----

NUMBERS = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
    "complex64": TensorProto.COMPLEX64,
    "complex128": TensorProto.COMPLEX128,
    "float8_e5m2": TensorProto.FLOAT8E5M2,
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_dtypes(tmp_path, name):
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    dtype = NUMBERS[name]
    program = compiled(tmp_path / "p.so", nodes, [("x", dtype, ["n"])], [("y", dtype, ["n"])])
    known = np.dtype(getattr(ml_dtypes, name, None) or name)
    x = np.array([0, 1, 1, 0, 1], "float32").astype(known)
    y = intarsia.tensorflow.Module(program)[None](x)
    assert y.dtype.name in (name, "half") and y.numpy().tobytes() == x.tobytes()


def test_strings_are_copied(tmp_path):
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    program = compiled(
        tmp_path / "p.so",
        nodes,
        [("x", TensorProto.STRING, ["n"])],
        [("y", TensorProto.STRING, ["n"])],
        backends=["onnxruntime", "reference"],
    )
    texts = [b"", b"short", b"x" * 22, b"y" * 23, bytes(range(1, 256)) * 40]
    before = intarsia.tensorflow.copies()
    made = intarsia.tensorflow.Module(program)[None](tf.constant(texts))
    assert made.numpy().tolist() == texts
    after = intarsia.tensorflow.copies()
    assert after.tensors - before.tensors == 2
    assert after.bytes - before.bytes == 2 * sum(map(len, texts))
    # Strings whose characters are elsewhere in their tensor: those of a slice, and of a parsed record.
    parts = tf.strings.split(tf.constant("a,%s,c" % ("b" * 50)), ",")[1:]
    assert intarsia.tensorflow.Module(program)[None](parts).numpy().tolist() == [b"b" * 50, b"c"]


def test_outputs_of_sizes_that_only_a_run_tells(tmp_path):
    nodes = [helper.make_node("NonZero", ["x"], ["where"])]
    program = compiled(
        tmp_path / "p.so",
        nodes,
        [("x", FLOAT, ["n"])],
        [("where", TensorProto.INT64, [1, None])],
        backends=["onnxruntime", "reference"],
    )
    function = intarsia.tensorflow.Module(program)[None]
    outputs = [function([0.0, 1, 0, *[2] * n]) for n in range(5)]
    for n, where in enumerate(outputs):  # in memory of their own
        assert where.numpy().tolist() == [[1, *range(3, 3 + n)]]


def address(tensor):
    return tensor.numpy().__array_interface__["data"][0]


def test_no_tensor_is_copied(addone):
    before = intarsia.tensorflow.copies()
    function = intarsia.tensorflow.Module(addone)["main"]
    outputs = [function(tf.range(1.0, 1000)[offset:]) for offset in range(4)]  # one not aligned
    assert intarsia.tensorflow.copies().tensors == before.tensors
    assert all(address(tensor) % 64 == 0 for tensor in outputs)


def test_outputs_outlive_the_module(addone):
    module = intarsia.tensorflow.Module(addone)
    y = module["main"](tf.zeros(1000))
    del module
    for _ in range(10):
        tf.zeros(1000) + 1
    np.testing.assert_array_equal(y, np.ones(1000))


# ---- gradients ----


@pytest.fixture(scope="module")
def scaled_square(folder):
    """z = x * x * y, and its gradient by x and y."""
    pair = [("x", FLOAT, ["n"]), ("y", FLOAT, ["n"])]
    forward = compiled(
        folder / "square.so",
        [helper.make_node("Mul", ["x", "x"], ["xx"]), helper.make_node("Mul", ["xx", "y"], ["z"])],
        pair,
        [("z", FLOAT, ["n"])],
    )
    backward = compiled(
        folder / "square_gradient.so",
        [
            helper.make_node("Mul", ["x", "dz"], ["xdz"]),  # its inputs are found by their names
            helper.make_node("Mul", ["xdz", "y"], ["half"]),
            helper.make_node("Add", ["half", "half"], ["dx"]),
            helper.make_node("Mul", ["x", "xdz"], ["dy"]),
        ],
        [("dz", FLOAT, ["n"]), *pair],
        [("dx", FLOAT, ["n"]), ("dy", FLOAT, ["n"])],
    )
    return forward, intarsia.tensorflow.Module(backward)[None]


def test_a_compiled_gradient_is_the_numerical_one(scaled_square):
    forward, backward = scaled_square
    function = intarsia.tensorflow.Module(forward, gradient=backward)[None]
    x, y = np.array([1, -2, 0.5], "float32"), np.array([3, 0.25, -1], "float32")
    theory, numbers = tf.test.compute_gradient(function, [x, y], delta=1e-2)
    np.testing.assert_allclose(theory, numbers, atol=2e-3)

    @tf.function
    def gradient(x, y):
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = tf.reduce_sum(function(x, y) * 2)
        return tape.gradient(z, x)

    np.testing.assert_allclose(gradient(tf.constant(x), tf.constant(y)), 4 * x * y, rtol=1e-6)


def test_without_a_gradient_tensorflow_names_the_op(scaled_square):
    x = tf.Variable([1.0, 2, 3])
    with tf.GradientTape() as tape:
        z = intarsia.tensorflow.Module(scaled_square[0])[None](x, x)
    with pytest.raises(LookupError, match="Intarsia"):
        tape.gradient(z, x)
    with pytest.raises(intarsia.InvalidArgumentError, match="no function 'backward'"):
        intarsia.tensorflow.Module(scaled_square[0], gradient="backward")
    itself = intarsia.tensorflow.Module(scaled_square[0])[None]
    with pytest.raises(intarsia.InvalidArgumentError, match="cannot be the gradient of"):
        intarsia.tensorflow.Module(scaled_square[0], gradient=itself)[None](x, x)


# ---- sharing and threads ----

SHARED = """
import os, sys, threading
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
    before = threading.active_count(), len(os.listdir("/proc/self/task"))
    workers = [threading.Thread(target=lambda: [session.run(ys, {x: np.zeros(8)}) for _ in range(20)]) for _ in range(8)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    print(maps(), len(os.listdir("/proc/self/task")) - before[1])
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
import atexit, sys, threading, tensorflow as tf
lib = tf.load_op_library(sys.argv[2])
run = lambda: lib.intarsia(artifact=sys.argv[1], inputs=[tf.zeros(2)], Tout=[tf.float32])[0].numpy().tolist()
atexit.register(lambda: print(run()))

def forever():
    while True:
        run()

threading.Thread(target=forever, daemon=True).start()
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
