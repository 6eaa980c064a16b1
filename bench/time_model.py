"""Times one runtime on one model in a process of its own: answers rounds on standard input with JSON on standard output.

    time_model.py intarsia|onnxruntime MODEL THREADS

Each line on stdin is a number of runs; the answer is the list of milliseconds. Weights are touched by every run and the
inputs are seeded, the same for both runtimes.
"""

import json
import sys
import time

import numpy as np


def make_inputs(model: str) -> dict[str, np.ndarray]:
    import onnx

    rng = np.random.default_rng(0)
    inputs = {}
    for value in onnx.load(model, load_external_data=False).graph.input:
        tensor = value.type.tensor_type
        shape = [dim.dim_value or 1 for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        inputs[value.name] = rng.random(shape).astype(dtype) if dtype.kind == "f" else rng.integers(0, 2, shape).astype(dtype)
    return inputs


def make_runner(runtime: str, model: str, threads: int):
    inputs = make_inputs(model)
    if runtime == "intarsia":
        import intarsia

        compiled = intarsia.compile(model, fallback="none", threads=threads)
        session = compiled.load().bind(threads=threads)
        return lambda: session.run(inputs)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def main() -> None:
    runtime, model, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    run = make_runner(runtime, model, threads)
    for _ in range(3):
        run()
    print("ready", flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1000)
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
