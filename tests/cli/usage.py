"""Command lines that no command takes: the error names the word that is wrong and what it may have been meant to be.

Covers: cli/usage/ nearest_name.cc wrong_usage.cc
"""

import pytest
from cli_models import error_of


def usage_error(tmp_path, *arguments):
    message = error_of(*arguments, status=2, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    return message


@pytest.mark.parametrize(
    "word,meant",
    [
        ("comple", "compile"),
        ("complie", "compile"),
        ("benchmark", "bench"),
        ("expain", "explain"),
        ("chek", "check"),
    ],
)
def test_mistyped_command(tmp_path, word, meant):
    message = usage_error(tmp_path, word, "net.onnx", "-o", "net.so")
    assert message == f"error: unknown command '{word}': did you mean {meant}?"


def test_unlike_any_command(tmp_path):
    message = usage_error(tmp_path, "frobnicate")
    assert "unknown command 'frobnicate'" in message and "compile, run, check" in message
    assert "want a command: compile, run" in usage_error(tmp_path)


@pytest.mark.parametrize(
    "arguments,word,meant",
    [
        (("compile", "net.onnx", "--ouput", "net.so"), "--ouput", "--output"),
        (("compile", "--ouput", "net.so", "net.onnx"), "--ouput", "--output"),
        (("compile", "net.onnx", "--ouput=net.so"), "--ouput", "--output"),
        (("compile", "--thread", "2", "net.onnx"), "--thread", "--threads"),
        (("compile", "net.onnx", "--cache-folder", "times"), "--cache-folder", "--cache"),
        (("compile", "net.onnx", "-output", "net.so"), "-output", "--output"),
        (("compile", "net.onnx", "-output=net.so"), "-output", "--output"),
        (("compile", "net.onnx", "-treads", "2"), "-treads", "--threads"),
        (("compile", "--fallbck", "none"), "--fallbck", "--fallback"),
        (("run", "--imput", "x=x.npy", "net.so"), "--imput", "--input"),
    ],
)
def test_mistyped_option(tmp_path, arguments, word, meant):
    """The word after it is not blamed, although it is left over, too."""
    message = usage_error(tmp_path, *arguments)
    assert message == f"error: unknown option '{word}' of {arguments[0]}: did you mean {meant}?"


def test_options_in_the_wrong_place(tmp_path):
    message = usage_error(tmp_path, "split", "net.onnx", "--backends", "halide")
    assert "unknown option '--backends' of split: it is one of compile, run, check, bench, explain" in message
    message = usage_error(tmp_path, "run", "net.so", "--backends", "halide")
    assert "--backends says how to compile a model, but a program is given" in message
    message = usage_error(tmp_path, "--threads", "2", "compile", "net.onnx")
    assert "unknown option '--threads' before the command" in message and "compile" in message
    assert "did you mean --version?" in usage_error(tmp_path, "--verson")
    message = usage_error(tmp_path, "compile", "net.onnx", "--frobnicate")
    assert "unknown option '--frobnicate' of compile; see intarsia compile --help" in message


def test_one_argument_too_many(tmp_path):
    message = usage_error(tmp_path, "compile", "a.onnx", "b.onnx")
    assert "unexpected argument 'b.onnx' of compile: 'a.onnx' is the MODEL" in message
    message = usage_error(tmp_path, "compile")
    assert "model is required" in message and "intarsia compile --help" in message
