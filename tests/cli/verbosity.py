"""-q and -v of every command: only what was asked for, or all that the report knows. --json is not changed.

Covers: cli/text/ progress.cc
cli/commands/ compile_details.cc
"""

import os

import numpy as np
import pytest
from cli_models import call, call_json, compile_small, error_of, save_small

REFERENCE = ("--backends", "reference")
TIMES = {"compile_seconds", "milliseconds", "measured_ms", "seconds"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verbosity")
    compile_small(folder)
    (folder / "inputs").mkdir()
    for name in ("a", "b"):
        np.save(folder / f"inputs/{name}.npy", np.zeros((2, 3, 8, 8), np.float32))
    return folder


def quiet(folder, *arguments):
    done = call(*arguments, "-q", cwd=folder)
    assert done.stderr == ""
    return done.stdout


def test_quiet_writes_files_and_nothing_else(folder):
    core = f"cpu:{min(os.sched_getaffinity(0))}"
    stages = (
        "small.onnx",
        "-o",
        "staged.so",
        "-d",
        core,
        "--objective",
        "throughput",
        "--cut",
        "r",
        *REFERENCE,
    )
    for command in (
        ("compile", "small.onnx", "-o", "other.so", *REFERENCE),
        ("compile", *stages),
        ("run", "small.so", "-o", "results"),
        ("run", "small.so", "-o", "results", "-i", "inputs"),
        ("run", "staged.so", "-o", "staged", "--pipeline"),
        ("check", "small.so"),
        ("split", "small.onnx", "-o", "pieces", "--cut", "r"),
    ):
        assert quiet(folder, *command) == "", command
    for file in ("other.so", "results/y.npy", "results/a.npy/y.npy", "staged/y.npy", "pieces/pipeline.json"):
        assert (folder / file).exists(), file


def test_quiet_prints_what_was_asked_for(folder):
    [output] = quiet(folder, "run", "small.so").splitlines()
    assert output.startswith("output y: f32[2,5] = ")
    lines = quiet(folder, "run", "small.so", "-i", "inputs").splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "file   inputs/a.npy",
        "output y",
        "file   inputs/b.npy",
        "output y",
    ]
    assert "the run, the mean" in quiet(folder, "run", "small.so", "--profile", "--runs", 2, "-o", "results")
    assert "intarsia " in quiet(folder, "bench", "small.so", "-t", "0.1")
    assert quiet(folder, "explain", "small.so") == call("explain", "small.so", cwd=folder).stdout
    assert "# after import" in quiet(
        folder, "compile", "small.onnx", "--stop-after", "import", "--print-after", "import"
    )
    names = quiet(folder, "devices").splitlines()
    assert "cpu" in names and all(" " not in name for name in names)


def test_quiet_says_what_is_wrong(folder):
    assert "nothing.onnx" in error_of("compile", "nothing.onnx", "-q", cwd=folder)
    other = save_small(folder / "other.onnx", scale=2.0)
    assert "output 'y' differs" in error_of("check", "small.so", "--model", other, "-q", cwd=folder)


def test_verbose_says_more(folder, tmp_path):
    compile_it = ("compile", folder / "small.onnx", "-o", tmp_path / "net.so", "--cache", tmp_path, "-v")
    compile_it += ("--backends", "halide")
    text = call(*compile_it).stdout
    assert "  code      for " in text and " s of CPU time, at most " in text
    assert "  times     of " in text and " variants now, of 0 from earlier compiles\n" in text
    if "this machine is busy" not in text:
        assert "  times     of 0 variants now, of " in call(*compile_it).stdout
    for command, more in (
        (("run", "small.so", "--runs", 3), ("on     reference@cpu\n", " ms at most\n")),
        (
            ("check", "small.so"),
            ("  the preferred plan on reference@cpu\n", "  allowed 1e-05 + 0.001 of the largest\n"),
        ),
        (("bench", "small.so", "-t", "0.1"), (" rounds, ", " until each thread had a core\n")),
        (("explain", "small.so"), ("Nodes:\n",)),
    ):
        normal, verbose = (call(*command, *option, cwd=folder).stdout for option in ((), ("-v",)))
        assert all(text in verbose and text not in normal for text in more), verbose
    assert call("devices", "-v").stdout == call("devices").stdout
    split = ("split", "small.onnx", "-o", "more", "--cut", "r")
    assert call(*split, "-v", cwd=folder).stdout == call(*split, cwd=folder).stdout


def test_many_regions_are_listed_by_verbose(folder, tmp_path):
    pins = [option for name in ("conv1", "pool1", "gemm1") for option in ("--pin", f"{name}=reference@b")]
    command = ("compile", "small.onnx", "--dry-run", "-d", "cpu,b=sim:0", *REFERENCE, *pins)
    regions = len(call_json(*command, cwd=folder)["regions"])
    assert call(*command, "-v", cwd=folder).stdout.count("\n  region ") == regions > 3


@pytest.mark.parametrize(
    "command",
    [
        ("compile", "small.onnx", "--dry-run", *REFERENCE),
        ("run", "small.so"),
        ("check", "small.so"),
        ("explain", "small.so"),
        ("split", "small.onnx", "-o", "pieces", "--cut", "r"),
        ("devices",),
    ],
)
def test_json_is_the_same(folder, command):
    normal, *others = (call_json(*command, *option, cwd=folder) for option in ((), ("-q",), ("-v",)))
    for other in others:
        assert {**other, **dict.fromkeys(TIMES)} == {**normal, **dict.fromkeys(TIMES)}
