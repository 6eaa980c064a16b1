"""Compiled programs as ops of TensorFlow: eager, tf.function, Keras, SavedModels, tf.data, TensorFlow 1 and its C API;
dtypes, copies and gradients.

Covers: bindings/tensorflow/ node.cc run.cc tensorflow_string.cc
bindings/python/intarsia/ size_expressions.py tensorflow.py
"""

import os
import shutil
from pathlib import Path

import intarsia
import intarsia.tensorflow
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from cli_models import save
from intarsia.size_expressions import evaluate_size
from onnx import TensorProto, helper
from tensorflow_programs import FLOAT, addone, compiled, folder, in_new_process, two_outputs

v1 = tf.compat.v1
errors = tf.errors
__all__ = ["addone", "folder", "two_outputs"]  # fixtures

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
    return np.asarray(memoryview(tensor)).__array_interface__["data"][0]  # numpy() would copy


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
