"""Writes the ONNX node tests as folders that `node_cases` reads: dump_node_cases.py OUT_FOLDER

Each folder holds model.onnx and test_data_set_0/{input,output}_N.pb. Cases with inputs or outputs that are not tensors
(sequences, optionals) are written as far as ONNX can serialize them.
"""

import pathlib
import sys
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests


def encode(value, type_proto, name):
    kind = type_proto.WhichOneof("value")
    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto)):
        return value
    if kind == "tensor_type":
        return numpy_helper.from_array(numpy.asarray(value), name)
    if kind == "sequence_type":
        return numpy_helper.from_list(value, name)
    return numpy_helper.from_optional(value, name)


def write_case(case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir(exist_ok=True)
        for kind, values, infos in (
            ("input", inputs, case.model.graph.input),
            ("output", outputs, case.model.graph.output),
        ):
            for i, (value, info) in enumerate(zip(values, infos)):
                (data / f"{kind}_{i}.pb").write_bytes(encode(value, info.type, info.name).SerializeToString())


def main():
    warnings.simplefilter("ignore")
    out = pathlib.Path(sys.argv[1])
    failed = 0
    cases = load_model_tests(kind="node")
    for case in cases:
        try:
            write_case(case, out / case.name)
        except Exception as error:  # one odd case must not hide the others
            failed += 1
            print(f"{case.name}: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"{len(cases) - failed} cases written, {failed} could not be")


if __name__ == "__main__":
    main()
