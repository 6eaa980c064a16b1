"""The node cases of the onnx package with the sizes of all inputs open: equal sizes are one open size. Every eighth one;
with more rounds all. What models have as constants (weights of recurrences, axes of sums) is constant.

Covers: backends/halide/canonicalize/ canonicalize.cc rewriter.cc
src/graph/ op_table*.cc element_rules.cc
"""

import copy
from collections import Counter

import onnx
import pytest
from onnx_cases import compare, draws_randomly, load_cases, read_exceptions, with_constants
from rounds import one_in

import intarsia

EXCEPTIONS = read_exceptions("unsupported_fallback_none.txt")
FEWEST_NATIVE = 65
where = Counter()


RECURRENCES = {"LSTM", "GRU", "RNN"}
# Inputs that models have as constants.
CONSTANT = {**{op: (1, 2, 3) for op in RECURRENCES}, "CumSum": (1,)}


def with_open_sizes(model):
    """The model with a name for every size of its inputs, and shapes that leave them open."""
    model = copy.deepcopy(model)
    constants = {constant.name for constant in model.graph.initializer}
    of_features = {node.input[0] for node in model.graph.node if node.op_type in RECURRENCES}
    shapes = {}
    for info in model.graph.input:
        tensor = info.type.tensor_type
        if info.name in constants or info.type.WhichOneof("value") != "tensor_type":
            continue
        if tensor.elem_type == onnx.TensorProto.STRING or not tensor.HasField("shape"):
            continue
        sizes = tensor.shape.dim[:-1] if info.name in of_features else tensor.shape.dim
        for size in sizes:
            if size.dim_value > 0:
                size.dim_param = f"size{size.dim_value}"
        shapes[info.name] = tuple(None if size.dim_param else size.dim_value for size in tensor.shape.dim)
    del model.graph.value_info[:]
    for info in model.graph.output:
        if info.type.WhichOneof("value") == "tensor_type":
            info.type.tensor_type.ClearField("shape")
    return model, shapes


CASES = one_in(8, [case for case in load_cases() if case.kind == "node" and case.name not in EXCEPTIONS])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, tmp_path):
    case = with_constants(case, CONSTANT) if len(case.data_sets) == 1 else case
    model, shapes = with_open_sizes(case.model)
    if not any(None in shape for shape in shapes.values()) or draws_randomly(case):
        pytest.skip("no open sizes")
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    compiled = intarsia.compile(
        path, shapes=shapes, tune="off", fallback="none", backends=["halide", "reference"]
    )
    targets = {region["target"] for region in compiled.report["regions"]}
    where["halide" if targets <= {"halide@cpu"} else "reference"] += 1
    session = compiled.load().bind()
    assert compare(case, lambda inputs: list(session.run(inputs).values())) == ""


def test_counts(capsys, request):
    with capsys.disabled():
        print(f"\nopen sizes: {dict(where)}")
    if request.session.testscollected == len(CASES) + 1:
        assert where["halide"] >= FEWEST_NATIVE
