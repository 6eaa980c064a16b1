"""TensorFlow models, each compiled and run by the command line, compared with TensorFlow's outputs for the same inputs.

Covers: backends/tensorflow/ *.cc
src/import/ function_matcher.cc match_rnn_cell.cc recognize_recurrence.cc import_tensorflow.cc
registry/ tensorflow_model.cc tensorflow_target.cc
"""

import json
import subprocess
import sys

import numpy as np
import pytest
from tensorflow_tools import (
    MODELS,
    SOURCE,
    assert_same,
    command_options,
    model_path,
    save_inputs,
    signatures,
    stored,
)

from cli_models import call, call_json
from rounds import ROUNDS

CLASSIFIERS = ("mobilenetv2", "resnet50", "efficientnetb0", "densenet121", "inceptionv3")
LARGE = ("densenet121", "inceptionv3") if ROUNDS == 1 else ()  # left to longer runs
RECURRENT = ("keras_lstm", "keras_lstm_steps", "keras_gru", "keras_gru_steps", "keras_bidirectional")
NATIVE = (*CLASSIFIERS, *RECURRENT, "two_signatures", "frozen", "unique_shapes")
# Model -> operators that only TensorFlow has.
FOREIGN = {
    "detector_head": {"CombinedNonMaxSuppression"},
    "jpeg_classifier": {"DecodeJpeg"},
    "text_classifier": {"StringLower", "StringSplitV2"},
    "text_table": {"StringLower", "StringSplitV2", "LookupTableFindV2"},
    "dynamic_rnn": set(),
    "spectral": {"RFFT2D", "Svd"},
    "custom_op": {"SquashedCube"},
    "ragged_sparse": {"SparseTensorDenseMatMul", "RaggedTensorToTensor"},
    "fifty_islands": {"BesselI0e"},
    "frozen_v1": set(),
}
ALL = [
    (name, signature)
    for name in (*NATIVE, *FOREIGN)
    if name not in LARGE
    for signature in (signatures(name) if (MODELS / f"{name}.inputs.npz").exists() else ["none"])
]
RTOL = 1e-4


def test_all_models_are_there():
    made = {path.stem for path in MODELS.glob("*.json")}
    assert made == {*NATIVE, *FOREIGN, "stateful"}, "run scripts/make_tensorflow_models.py"


def compile_model(name, signature, folder, *options):
    program = folder / f"{name}.so"
    return program, call_json(
        "compile", model_path(name), "-o", program, *command_options(name, signature), *options
    )


def run_program(program, inputs, folder):
    """{output: array} of a run on .npy files."""
    outputs = call_json("run", program, *save_inputs(inputs, folder), "-o", folder / "out")["outputs"]
    return {output["name"]: np.load(output["file"]) for output in outputs}


def backends_of(nodes_or_regions):
    return [entry["target"].split("@")[0] for entry in nodes_or_regions]


@pytest.mark.parametrize("name, signature", ALL, ids=lambda one: one)
def test_model(name, signature, tmp_path):
    program, report = compile_model(name, signature, tmp_path)
    inputs = stored(name, "inputs", signature)
    assert {port["name"] for port in report["inputs"]} == set(inputs)
    assert_same(run_program(program, inputs, tmp_path), stored(name, "expected", signature), RTOL)
    nodes = call_json("explain", program)["nodes"]
    for op in FOREIGN.get(name, ()):
        targets = {node["target"] for node in nodes if node["op"].split(".")[-1] == op}
        assert targets == {"tensorflow@cpu"}, op
    assert "tensorflow" not in backends_of(node for node in nodes if node["op"] == "Conv")
    assert ("tensorflow" in backends_of(report["regions"])) == (name in FOREIGN)


@pytest.mark.parametrize("name", [name for name in NATIVE if name not in LARGE])
def test_native_without_a_framework(name, tmp_path):
    signature = signatures(name)[0]
    program, report = compile_model(name, signature, tmp_path, "--fallback", "none")
    assert set(backends_of(report["regions"])) == {"halide"}
    assert_same(
        run_program(program, stored(name, "inputs", signature), tmp_path),
        stored(name, "expected", signature),
        RTOL,
    )


@pytest.mark.parametrize("name", [name for name, operators in FOREIGN.items() if operators])
def test_without_a_framework_the_error_names_the_operators(name, tmp_path):
    options = [*command_options(name, signatures(name)[0]), "--fallback", "none"]
    message = call("compile", model_path(name), "-o", tmp_path / "x.so", *options, status=1).stderr
    assert any(operator in message for operator in FOREIGN[name])
    assert list(tmp_path.iterdir()) == []


def test_fifty_islands_are_fifty_regions(tmp_path):
    _, report = compile_model("fifty_islands", "serving_default", tmp_path)
    regions = [
        "tensorflow" if backend == "tensorflow" else "native" for backend in backends_of(report["regions"])
    ]
    assert regions == ["native", "tensorflow"] * 50 + ["native"]


@pytest.mark.parametrize(
    "name", ("two_signatures", "frozen", "frozen_v1", "text_table", "custom_op", "spectral", "unique_shapes")
)
def test_check_against_tensorflow(name, tmp_path):
    """`check` on the model, and on the program, with strings as S and as U."""
    signature = signatures(name)[0]
    options, inputs = command_options(name, signature), stored(name, "inputs", signature)
    report = call_json(
        "check", model_path(name), *options, *save_inputs(inputs, tmp_path), "--against", "tensorflow"
    )
    assert (
        report["ok"]
        and report["against"] == "tensorflow"
        and len(report["outputs"]) == len(stored(name, "expected", signature))
    )
    program, _ = compile_model(name, signature, tmp_path)
    texts = {
        key: np.char.decode(value, "utf-8") if value.dtype.kind == "S" else value
        for key, value in inputs.items()
    }
    assert call_json("check", program, *save_inputs(texts, tmp_path), "--rtol", "1e-4")["ok"]


@pytest.mark.parametrize("signature", signatures("two_signatures"))
def test_bench_against_tensorflow(signature, tmp_path):
    """The peer runs the signature that the program was compiled from, given a model and given a program."""
    program, _ = compile_model("two_signatures", signature, tmp_path)
    inputs = save_inputs(stored("two_signatures", "inputs", signature), tmp_path)
    for subject in ([program], [model_path("two_signatures"), *command_options("two_signatures", signature)]):
        ours, peer = call_json("bench", *subject, *inputs, "--against", "tensorflow", "-t", "0.2")["results"]
        assert peer["runtime"] == "tensorflow" and peer["median_ms"] > 0 and ours["outputs"] is None
        assert {output["name"] for output in peer["outputs"]} == set(
            stored("two_signatures", "expected", signature)
        )


@pytest.mark.parametrize("batch", (1, 5))
def test_other_batches(batch, tmp_path):
    """The sizes that a model leaves open are chosen when it is compiled: the rows of the stored outputs are repeated."""
    inputs, want = (
        stored("two_signatures", "inputs", "classify"),
        stored("two_signatures", "expected", "classify"),
    )
    image = np.resize(inputs["image"], (batch, *inputs["image"].shape[1:]))
    program = tmp_path / "program.so"
    call(
        "compile",
        model_path("two_signatures"),
        "--signature",
        "classify",
        "--tune",
        "off",
        "-o",
        program,
        "--shape",
        "image=" + "x".join(map(str, image.shape)),
    )
    want = {name: np.resize(value, (batch, *value.shape[1:])) for name, value in want.items()}
    assert_same(run_program(program, {"image": image}, tmp_path), want, RTOL)


def test_a_compile_stops_in_every_function(tmp_path):
    shape = "image=" + "x".join(map(str, stored("two_signatures", "inputs", "classify")["image"].shape))
    for name in ("import", "place_nodes"):
        report = call_json(
            "compile",
            model_path("two_signatures"),
            "-o",
            tmp_path / "p.so",
            "--shape",
            shape,
            "--stop-after",
            name,
        )
        assert [bool(function["inputs"]) for function in report["functions"]] == [True, True]
    assert not list(tmp_path.iterdir())


def test_a_shape_of_no_input_is_told_before_anything_is_placed(tmp_path):
    done = call(
        *("compile", model_path("two_signatures"), "-o", tmp_path / "p.so", "--shape", "imagee=1x8x8x3"),
        *("--print-after", "place_nodes"),
        status=2,
    )
    assert "--shape imagee: no function of the model has such an input" in done.stderr
    assert "place_nodes" not in done.stdout


@pytest.mark.parametrize(
    "options", ((), ("--signature", "encode", "--signature", "classify")), ids=("default", "named")
)
def test_signatures_are_functions(options, tmp_path):
    """Neither is the default: both become functions of one program, which holds their common weights once."""
    inputs, program = stored("two_signatures", "inputs", "classify"), tmp_path / "program.so"
    shape = "image=" + "x".join(map(str, inputs["image"].shape))
    report = call_json(
        "compile", model_path("two_signatures"), "-o", program, "--tune", "off", "--shape", shape, *options
    )
    assert {function["function"] for function in report["functions"]} == {"encode", "classify"}
    assert report["constants_bytes"] < 1.1 * max(
        function["model_weights_bytes"] for function in report["functions"]
    )
    for function in ("encode", "classify"):
        outputs = call_json(
            "run", program, "--function", function, *save_inputs(inputs, tmp_path), "-o", tmp_path / function
        )["outputs"]
        assert_same(
            {output["name"]: np.load(output["file"]) for output in outputs},
            stored("two_signatures", "expected", function),
            RTOL,
        )


def test_a_native_program_opens_no_framework(tmp_path):
    """No part of a framework is mapped into a process that runs a program without regions of it."""
    program, _ = compile_model("frozen", "main", tmp_path)
    code = f"import intarsia; p = intarsia.load({str(program)!r}); s = p.bind(); print(open('/proc/self/maps').read())"
    maps = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert (
        "libintarsia" in maps
        and "tensorflow" not in maps.replace(str(SOURCE), "")
        and "libonnxruntime" not in maps
    )


# Together with TensorFlow in one process: each text is a separate process.

PROCESSES = {
    "tensorflow, compile, run": """
        import tensorflow
        check_here("spectral", compile_here("spectral").load().bind())
        works(tensorflow)""",
    "compile, tensorflow, run": """
        program = compile_here("spectral").load()
        import tensorflow
        check_here("spectral", program.bind())
        works(tensorflow)""",
    "run, tensorflow, run": """
        session = compile_here("spectral").load().bind()
        check_here("spectral", session)
        import tensorflow
        works(tensorflow)
        check_here("spectral", session)
        works(tensorflow)""",
    "native program next to tensorflow": """
        session = compile_here("frozen").load().bind()
        check_here("frozen", session)
        import tensorflow
        works(tensorflow)
        check_here("frozen", session)""",
    "two programs in turn": """
        names = ("spectral", "text_table", "detector_head")
        sessions = {name: compile_here(name).load().bind() for name in names}
        for _ in range(3):
            for name in names:
                check_here(name, sessions[name])""",
    "two programs in two threads": """
        import concurrent.futures
        names = ("spectral", "text_table") * 2
        programs = {name: compile_here(name).load() for name in set(names)}
        def work(name):
            session = programs[name].bind()
            for _ in range(20):
                check_here(name, session)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(work, names))""",
    "one operator library for both": """
        import tensorflow
        tensorflow.load_op_library(str(MODELS / "custom_op.so"))
        session = compile_here("custom_op").load().bind()
        check_here("custom_op", session)
        works(tensorflow, "custom_op")""",
    "a program outlives its session": """
        import gc
        program = compile_here("spectral").load()
        for _ in range(5):
            session = program.bind()
            outputs = session.run(stored("spectral", "inputs"))
            del session
            gc.collect()
            assert_same(outputs, stored("spectral", "expected"), 1e-4)""",
}

PREAMBLE = """
import sys, textwrap
sys.path.insert(0, sys.argv[1])
from tensorflow_tools import *
def works(tensorflow, name="two_signatures"):
    signature = signatures(name)[0]
    run = tensorflow.saved_model.load(str(model_path(name))).signatures[signature]
    inputs = {key: tensorflow.constant(value) for key, value in stored(name, "inputs", signature).items()}
    assert_same({key: value.numpy() for key, value in run(**inputs).items()}, stored(name, "expected", signature), 1e-4)
exec(textwrap.dedent(sys.argv[2]))
print("done")
"""


@pytest.mark.parametrize("text", PROCESSES.values(), ids=[key.replace(" ", "_") for key in PROCESSES])
def test_one_process(text):
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE, str(SOURCE / "tests/conformance"), text],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stdout.strip()[-4:]) == (0, "done"), done.stderr


def test_program_needs_no_model(tmp_path):
    """The weights and the vocabulary are in the program: it runs without the model's folder."""
    import shutil

    folder = tmp_path / "moved"
    shutil.copytree(model_path("text_table"), folder)
    program = tmp_path / "program.so"
    call("compile", folder, "-o", program, *command_options("text_table", "serving_default"))
    shutil.rmtree(folder)
    assert_same(
        run_program(program, stored("text_table", "inputs"), tmp_path), stored("text_table", "expected"), RTOL
    )


def test_json_of_compile(tmp_path):
    """One object with the model's sizes and weights."""
    _, report = compile_model("two_signatures", "classify", tmp_path)
    json.dumps(report)
    assert report["inputs"] == [{"name": "image", "dtype": "f32", "shape": [2, 16, 16, 3]}]
    assert {(port["name"], port["dtype"], *port["shape"]) for port in report["outputs"]} == {
        ("probabilities", "f32", 2, 10),
        ("label", "i64", 2),
    }
    assert report["model_weights_bytes"] >= 4 * (9 * 3 * 16 + 16 + 9 * 16 * 32 + 32 + 32 * 10 + 10)
