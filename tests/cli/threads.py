"""How many threads a run has if nobody says: one for each core of the process, in every command and in Python.

Covers: cli/system/ cores.cc
src/api/ read_request.cc
src/runtime/ bind_program.cc
"""

import os
import subprocess
import sys

import intarsia
import pytest
from cli_models import call, call_json, compile_small, save_small

CORES = sorted(os.sched_getaffinity(0))
REFERENCE = ("--backends", "reference")
QUICK = ("-t", "0.1")
several_cores = pytest.mark.skipif(len(CORES) < 2, reason="one core")


def on_one_core(*arguments):
    return call_json(*arguments, preexec_fn=lambda: os.sched_setaffinity(0, CORES[:1]))


def words_of(*arguments):
    """What it prints, wherever lines end."""
    return " ".join(call(*arguments).stdout.split())


@pytest.fixture
def model(tmp_path):
    return save_small(tmp_path / "small.onnx")


def test_every_command_takes_all_cores(model, tmp_path):
    program = tmp_path / "small.so"
    commands = [
        ("compile", model, "-o", program, *REFERENCE),
        ("explain", model, *REFERENCE),
        ("explain", program),
        ("check", model, *REFERENCE),
        ("check", program),
        ("run", program),
        ("bench", model, *REFERENCE, *QUICK),
        ("bench", program, *QUICK),
    ]
    assert [call_json(*command)["threads"] for command in commands] == [len(CORES)] * len(commands)


def test_those_of_the_affinity(model, tmp_path):
    program = tmp_path / "small.so"
    commands = [
        ("explain", model),
        ("check", model),
        ("compile", model, "-o", program),
        ("bench", model, *QUICK),
    ]
    assert [on_one_core(*command, *REFERENCE)["threads"] for command in commands] == [1] * len(commands)
    assert call_json("run", program)["threads"] == 1, "as compiled"


@several_cores
def test_a_program_for_more_threads_has_those_that_there_are(tmp_path):
    program = compile_small(tmp_path, "--threads", len(CORES))
    for command in (("run", program), ("check", program), ("bench", program, *QUICK)):
        assert on_one_core(*command)["threads"] == 1, command


@several_cores
def test_another_number_than_it_was_compiled_for_is_said(tmp_path):
    program = compile_small(tmp_path, "--threads", "2")
    as_compiled = words_of("run", program)
    assert "ms on 2 threads, the first run" in as_compiled and "chosen for" not in as_compiled
    other = words_of("run", program, "--threads", 1)
    assert "ms on 1 thread, the first run" in other
    assert "note its kernels were chosen for 2 threads; compile with --threads 1" in other
    report = call_json("run", program, "--threads", 1)
    assert report["threads"] == 1 and report["compiled_for_threads"] == 2


def test_commands_say_it(model, tmp_path):
    program = tmp_path / "small.so"
    options = (*REFERENCE, "--threads", 1)
    assert " runs on 1 thread " in words_of("compile", model, "-o", program, *options)
    assert "between devices, for 1 thread " in words_of("explain", program)
    assert f"on {model}, on 1 thread " in words_of("check", program)
    assert f"{program}, 1 thread " in words_of("bench", program, *QUICK)


@several_cores
def test_core_sets_have_a_thread_for_each_core(model, tmp_path):
    first, second = CORES[:2]
    sets = f"a=cpu:{first},b=cpu:{second}"
    assert call_json("compile", model, "-o", tmp_path / "a.so", "-d", sets, *REFERENCE)["threads"] == 1
    both = f"a=cpu:{first},b=cpu:{first}+{second}"
    assert call_json("compile", model, "-o", tmp_path / "b.so", "-d", both, *REFERENCE)["threads"] == 2


def test_in_python(model):
    assert intarsia.compile(model, backends="reference").report["threads"] == len(CORES)
    assert intarsia.explain(model, backends="reference", threads=1)["threads"] == 1
    code = f"import os, intarsia; os.sched_setaffinity(0, {{{CORES[0]}}}); "
    code += f"print(intarsia.check({str(model)!r}, backends='reference')['threads'])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"
