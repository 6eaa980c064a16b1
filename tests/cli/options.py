"""Every option of the command line is a field in C, a member in C++ and a parameter in Python, and the other way around.

Covers: cli/usage/ compile_options.cc
"""

import inspect
import re

import intarsia
import pytest
from cli_models import SOURCE, call

INCLUDE = SOURCE / "include/intarsia"
# What only a command line has: how it prints, and where it writes what other callers receive.
PRESENTATION = {"--help", "--json", "--quiet", "--verbose", "--all-rows"}
# What makes an array of a picture, which other callers do by libraries of theirs.
PICTURES = {"--resize", "--mean", "--scale"}
# What is for a whole process, and a call of its own everywhere: its name.
OF_THE_PROCESS = {"--plugin": "load_plugin"}
# Parts of commands that are not a call of the library: `run` and `bench` are programs made of its calls.
OWN = {
    "compile": {
        "--output": "a parameter of intarsia_compile's request (program) and of Compiled.save",
        "--functions": "a call of its own, intarsia_export_generators and export_generators",
        "--emit": "a call of its own in Python, emit_c",
        "--constants": "a parameter of emit_c in Python",
        "--c-name": "c_names, in Python a parameter of emit_c",
    },
    "run": {
        "--input": "the inputs of a run",
        "--output": "the outputs of a run",
        "--runs": "a loop around a run",
        "--pipeline": "a call of its own, intarsia_pipeline_read and PipelineBuilder(path)",
        "--rate": "when the frames of a pipeline are pushed",
        "--html": "a page of what intarsia_frame_trace tells",
    },
    "explain": {
        "--dot": "a field of intarsia_explanation",
        "--nodes": "a field of intarsia_explanation",
        "--html": "a field of intarsia_explanation, explain_html in Python",
        "--annotate": "a call of its own, intarsia_annotate",
    },
    "rewrite": {
        "--html": "a field of intarsia_rewrite_report",
    },
    "split": {
        "--output": "a parameter of intarsia_split (folder) and of split",
        "--cut": "a parameter of intarsia_split (cuts) and of split",
    },
    "tune-pack": {
        "--output": "a parameter of intarsia_tune_pack (folder) and of tune_pack",
    },
    "bench": {
        "--against": "a loop around peers",
        "--mode": "which loop: around runs, or around frames of a pipeline",
        "--seconds": "how long that loop takes",
        "--profile": "a call of the session's after that loop",
    },
}
# Exceptions from --some-name, some_name.
C_NAMES = {
    "--shape": "shapes",
    "--pin": "pins",
    "--c-name": "c_names",
    "--replace": "replacements",
    "--cut": "cuts",
    "--signature": "signatures",
    "--op-library": "op_libraries",
    "--input": "inputs",
    "--bind": "bindings",
}
PYTHON_NAMES = {**C_NAMES, "--replace": "replace", "--signature": "signature", "--bind": "devices"}


def flags(command):
    text = call(command, "--help").stdout
    return set(re.findall(r"^\s+(?:-\w,\s?)?(--[a-z-]+)", text, re.MULTILINE))


def struct(header, name):
    text = (INCLUDE / header).read_text()
    found = re.search(rf"struct {name} \{{(.*?)\n\}}", text, re.DOTALL)
    assert found, f"{header} has no struct {name}"
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", found.group(1), flags=re.DOTALL)


def has(text, name):
    return re.search(rf"\b{name}\b", text) is not None


def parameters(*functions):
    return {name for function in functions for name in inspect.signature(function).parameters}


C_COMPILE = struct("intarsia_compile.h", "intarsia_compile_request")
C_CHECK = struct("intarsia_compile.h", "intarsia_check_request")
C_REWRITE = struct("intarsia_compile.h", "intarsia_rewrite_request")
C_RUN = struct("intarsia.h", "intarsia_bind_options") + (INCLUDE / "intarsia.h").read_text()
CPP_COMPILE = struct("intarsia_compile.hpp", "CompileOptions")
CPP_CHECK = struct("intarsia_compile.hpp", "CheckOptions")
CPP_REWRITE = struct("intarsia_compile.hpp", "RewriteOptions")
CPP_RUN = (INCLUDE / "intarsia.hpp").read_text()
SURFACES = {
    "compile": (C_COMPILE, CPP_COMPILE, parameters(intarsia.compile)),
    "explain": (C_COMPILE, CPP_COMPILE, parameters(intarsia.explain)),
    "check": (C_COMPILE + C_CHECK, CPP_COMPILE + CPP_CHECK, parameters(intarsia.check)),
    "rewrite": (C_COMPILE + C_REWRITE, CPP_COMPILE + CPP_REWRITE, parameters(intarsia.rewrite)),
    "tune-pack": (C_COMPILE, CPP_COMPILE, parameters(intarsia.tune_pack)),
    "bench": (C_COMPILE + C_CHECK, CPP_COMPILE + CPP_CHECK, parameters(intarsia.bench)),
    "run": (
        C_RUN + C_COMPILE,
        CPP_RUN + CPP_COMPILE,
        parameters(intarsia.Program.bind, intarsia.Session.run, intarsia.compile)
        | {name.removeprefix("set_") for name in dir(intarsia.Session)},
    ),
}


@pytest.mark.parametrize("command", SURFACES)
def test_every_flag_is_everywhere(command):
    found = flags(command)
    assert len(found) > 4
    c, cpp, python = SURFACES[command]
    missing = []
    for flag in sorted(found - PRESENTATION - PICTURES - OF_THE_PROCESS.keys() - OWN.get(command, {}).keys()):
        name = flag.removeprefix("--").replace("-", "_")
        in_c = C_NAMES.get(flag, name)
        missing += [] if has(c, in_c) else [f"{flag}: no {in_c} in C"]
        missing += [] if has(cpp, in_c) else [f"{flag}: no {in_c} in C++"]
        in_python = PYTHON_NAMES.get(flag, name)
        missing += [] if in_python in python else [f"{flag}: no {in_python} in Python"]
    assert not missing


@pytest.mark.parametrize("name", OF_THE_PROCESS.values())
def test_what_is_for_a_process_is_a_call_everywhere(name):
    assert has(C_RUN, f"intarsia_{name}") and has(CPP_RUN, name) and name in dir(intarsia)


@pytest.mark.parametrize("command", SURFACES)
def test_exceptions_are_needed(command):
    assert OWN.get(command, {}).keys() <= flags(command)


def test_every_field_of_the_request_has_a_flag():
    callbacks = {"progress", "print", "user", "is_cancelled"}
    fields = set(re.findall(r"(?:\(\*)?(\w+)\)?(?:\([^)]*\))?;", C_COMPILE)) - callbacks
    fields -= {"struct_size", "model", "program", "input_count"}  # the arguments of the command, and a length
    flag_of = {name: flag for flag, name in C_NAMES.items()}
    known = flags("compile")
    assert len(fields) > 15
    assert not [name for name in fields if flag_of.get(name, "--" + name.replace("_", "-")) not in known]


def test_passes_are_one_list():
    assert intarsia.pass_names()[0] == "import"
    refused = call("compile", "none.onnx", "--stop-after", "lunch", status=2).stderr
    assert all(name in refused for name in intarsia.pass_names())
    documented = (SOURCE / "docs/passes.md").read_text()
    assert not [name for name in intarsia.pass_names() if f"`{name}`" not in documented]
