"""Messages of the libraries in Python's words: arguments in place of the command line's options, numpy's names of dtypes.

Covers: bindings/python/intarsia/ words.py reports.py
"""

import inspect
import re

import intarsia
import numpy as np
import pytest
from cli_models import SOURCE, compile_small, save_relu, save_small
from intarsia.words import DTYPES, FLAGS, in_python

# Sources of messages; these have options of the linker and of Clang, and properties of a page.
NOT_MESSAGES = (
    "build/stack_bytes.cc",
    "build/thumb_code.cc",
    "code/find_clang.cc",
    "compile/link_objects.cc",
    "report/explain_svg.cc",
    "report/html_cells.cc",
)
OPTION = re.compile(r"(?<![\w/-])(--[a-z][a-z-]*|-[a-z]\b)")


def message_templates():
    """String literals of the libraries' sources that name an option or a command, adjacent ones joined."""
    for folder in ("src", "backends"):
        for path in sorted((SOURCE / folder).rglob("*.cc")):
            if str(path).endswith(NOT_MESSAGES):
                continue
            text = re.sub(r'"\s*\n\s*"', "", path.read_text())
            for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
                if OPTION.search(literal) or "`intarsia" in literal:
                    yield path.relative_to(SOURCE), literal


def test_every_message_of_the_libraries():
    templates = list(message_templates())
    assert len(templates) > 50
    left = []
    for path, template in templates:
        message = in_python(template.replace("{}", "7"))
        if OPTION.search(message) or "`intarsia" in message:
            left.append(f"{path}: {message}")
    # What is left belongs in bindings/python/intarsia/words.py, but for what no call in Python can bring about.
    allowed = {
        "no program to write; name it with -o",
        "(ulimit -u, -v)",
        "python -m tf2onnx.convert --tflite",
    }
    assert not [line for line in left if not any(text in line for text in allowed)]


@pytest.mark.parametrize(
    "message, want",
    [
        ("--threads 0: want 1 to 1024", "threads=0: want 1 to 1024"),
        ("--cut my value: it is an input", "cuts=my value: it is an input"),
        ("give --shape in put=...", "give shapes['in put']=..."),
        ("--shape x=1x3: rank 2", "shapes['x']=1x3: rank 2"),
        ("--memory a b: the limit is 7", "memory['a b']: the limit is 7"),
        ("bind another device or pass --memory", "bind another device or pass memory=..."),
        ("--plan and --pin both say where", "plan=... and pins=... both say where"),
        ("--pin conv*=x@cpu: no such target", "pins['conv*']=x@cpu: no such target"),
        ("(--backends, --fallback auto)", "(backends=..., fallback=auto)"),
        ("--backends x contradicts --fallback none: x", "backends=x contradicts fallback=none: x"),
        ("has dtype bf16, want f32[2]", "has dtype bfloat16, want float32[2]"),
        ("node 'f32 --tune' of 'm/f32.onnx' is i64", "node 'f32 --tune' of 'm/f32.onnx' is int64"),
        ("the model's f32 of /a/f32/f32.onnx", "the model's float32 of /a/f32/f32.onnx"),
    ],
)
def test_words(message, want):
    assert in_python(message) == want


def test_errors_of_calls_name_arguments(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    for options, message in [
        ({"threads": -1}, "^threads=-1: want 1 to"),
        ({"shapes": {"z": (1, 2)}}, r"^shapes\['z'\]: the model has no such input; it has x"),
        ({"pins": {"none*": "halide@cpu"}}, r"^pins\['none\*'\]=halide@cpu: no node's name matches; explain"),
        ({"objective": "throughput", "stages": 0}, "^stages=0: want auto, or a number from 1"),
        ({"cuts": "c"}, "^cuts=c: a program for latency has no stages; add objective=throughput$"),
        ({"backends": "none"}, "^backends=none: no such backend"),
    ]:
        with pytest.raises(intarsia.InvalidArgumentError, match=message):
            intarsia.compile(model, **options)
    with pytest.raises(intarsia.InvalidArgumentError, match="^threads=4096: this machine has"):
        intarsia.load(compile_small(tmp_path)).bind(threads=4096)
    with pytest.raises(TypeError, match="^threads='2': want int, got str$"):
        intarsia.compile(model, threads="2")


def test_arguments_are_named_as_in_signatures():
    known = set(inspect.signature(intarsia.compile).parameters)
    for function in (
        intarsia.check,
        intarsia.bench,
        intarsia.emit_c,
        intarsia.rewrite,
        intarsia.Program.bind,
    ):
        known |= set(inspect.signature(function).parameters)
    assert set(FLAGS) - known == {"load_plugin"}


def test_dtypes_have_one_name(tmp_path):
    compiled = intarsia.compile(save_relu(tmp_path / "relu.onnx"), backends="reference")
    program = compiled.save(tmp_path / "relu.so")
    reports = [compiled.report, intarsia.explain(program), intarsia.check(program, against="reference")]
    for report in reports:
        assert [one["dtype"] for one in report["inputs"]] == ["float32"] == [program.inputs[0].dtype]
    assert set(DTYPES.values()) | {"bool", "string", "undefined"} == set(intarsia.values.DTYPE_NAMES.values())
    for name in set(DTYPES.values()):
        assert intarsia.values.numpy_dtype(name).name == name
    assert np.dtype(program.outputs[0].dtype) == np.float32


def test_why_nothing_was_measured_is_told_in_these_words(tmp_path):
    report = intarsia.compile(save_small(tmp_path / "small.onnx"), tune="off").report
    assert report["tuning"]["disabled_reason"] == "tune=off"
