"""Inputs, references and edits of whole models."""

import pathlib

import numpy as np
import onnx
import onnxruntime
from cli_models import SOURCE

MODELS = SOURCE / "build/models"
MICROSOFT = "com.microsoft"


def free_inputs(model):
    initializers = {tensor.name for tensor in model.graph.initializer}
    return [info for info in model.graph.input if info.name not in initializers]


def input_shape(info, sizes=None):
    """Sizes of an input; an open one is looked up by its symbol, 1 if not given."""
    return [d.dim_value or (sizes or {}).get(d.dim_param, 1) for d in info.type.tensor_type.shape.dim]


def random_inputs(model, sizes=None, seed=3):
    """Floats are normal, integers 0 and 1."""
    random = np.random.default_rng(seed)
    inputs = {}
    for info in free_inputs(model):
        dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        shape = input_shape(info, sizes)
        values = random.normal(size=shape) if dtype.kind == "f" else random.integers(0, 2, size=shape)
        inputs[info.name] = values.astype(dtype)
    return inputs


def run_onnxruntime(model, inputs):
    """{output: value}; a model is a path or a proto."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 3
    source = str(model) if isinstance(model, pathlib.Path) else model.SerializeToString()
    session = onnxruntime.InferenceSession(source, settings, providers=["CPUExecutionProvider"])
    return dict(zip((o.name for o in session.get_outputs()), session.run(None, inputs)))


def assert_close(got, want, rtol=1e-3):
    """Floats differ by at most rtol of the largest; everything else is equal. Returns the largest relative difference."""
    worst = 0.0
    assert set(got) == set(want)
    for name, expected in want.items():
        assert got[name].shape == expected.shape and got[name].dtype == expected.dtype, name
        if expected.dtype.kind != "f":
            np.testing.assert_array_equal(got[name], expected, err_msg=name)
            continue
        assert np.isfinite(expected).all(), f"{name}: the reference is not finite"
        largest = max(float(np.abs(expected).max(initial=0)), 1e-30)
        worst = max(worst, float(np.abs(got[name] - expected).max(initial=0)) / largest)
        assert worst <= rtol, f"{name}: off by {worst} of the largest"
    return worst


def ensure_opset(model, domain):
    if not any(opset.domain == domain for opset in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(domain, 1))


def insert_foreign(model, value, only_reader=None):
    """Puts QuickGelu of com.microsoft, which our compiler does not know, after a value: all its readers, or only the named
    node, read the operator's result instead. A model's output keeps its name. Returns the node's name."""
    ensure_opset(model, MICROSOFT)
    name = f"foreign_{len(model.graph.node)}"
    nodes = list(model.graph.node)
    made_by = next((i for i, node in enumerate(nodes) if value in node.output), -1)
    source, result = value, f"{name}:0"
    if any(output.name == value for output in model.graph.output):
        source, result = f"{value}:plain", value
        nodes[made_by].output[list(nodes[made_by].output).index(value)] = source
    for node in nodes:
        if only_reader in (None, node.name):
            for i, read in enumerate(node.input):
                if read == value:
                    node.input[i] = result
    foreign = onnx.helper.make_node("QuickGelu", [source], [result], name, domain=MICROSOFT, alpha=1.702)
    model.graph.node.insert(made_by + 1, foreign)
    return name


def randomize_weights(model, seed=5):
    """Replaces the constant weights of a light model with seeded random ones and makes what Softmax reads an output, too:
    after it, logits of such a model are often one and zeros.

    Weights of rank 2 and more are normal with variance 2 / fan-in, which keeps activations in range; smaller ones (biases,
    scales) are between 0.5 and 1, so that variances stay positive."""
    random = np.random.default_rng(seed)

    def draw(shape, name):
        if len(shape) < 2:
            values = random.uniform(0.5, 1.0, size=shape)
        else:
            values = random.standard_normal(shape, np.float32) * np.sqrt(2 / np.prod(shape[1:]))
        return onnx.numpy_helper.from_array(values.astype(np.float32), name)

    graph = model.graph
    shapes = {
        t.name: onnx.numpy_helper.to_array(t).tolist()
        for t in graph.initializer
        if t.data_type == onnx.TensorProto.INT64
    }
    made = [node for node in graph.node if node.op_type == "ConstantOfShape"]
    weights = [draw(shapes[node.input[0]], node.output[0]) for node in made]
    for tensor in graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) < 2:
            tensor.CopyFrom(draw(list(tensor.dims), tensor.name))
    for node in made:
        graph.node.remove(node)
    graph.initializer.extend(weights)
    logits = [node.input[0] for node in graph.node if node.op_type == "Softmax"]
    graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in logits
    )
