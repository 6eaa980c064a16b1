"""Reports and help keep to 80 columns, or to the terminal's, and say what matters in them.

Covers: cli/text/ wrap_text.cc short_names.cc
cli/usage/ help.cc
cli/commands/ region_summary.cc bench_latency.cc
cli/results/ profile.cc
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import numpy as np
import pytest
from cli_models import INTARSIA, TensorProto, call, call_json, helper, save

FLOAT = TensorProto.FLOAT


def name_of(number):
    return f"node_linear_{900 + number}" if number % 2 else f"node_sigmoid_{900 + number}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A program of 27 regions of two backends in turn, whose nodes have names like PyTorch's."""
    folder = tmp_path_factory.mktemp("columns")
    nodes, count = [], 27
    for i in range(count):
        output = "y" if i == count - 1 else f"v{i + 1}"
        inputs = ["x" if i == 0 else f"v{i}"]
        op = "MatMul" if i % 2 else "Sigmoid"
        nodes.append(helper.make_node(op, inputs + ["w"] * (i % 2), [output], name_of(i)))
    shape = [1, 8, 64, 64]
    weights = [("w", np.eye(64, dtype=np.float32))]
    save(folder / "net.onnx", nodes, [("x", FLOAT, shape)], [("y", FLOAT, shape)], weights)
    compile_net(folder)
    return folder


def compile_net(folder, *options):
    pins = ["--pin", "node_linear_*=onnxruntime@cpu", "--pin", "node_sigmoid_*=halide@cpu"]
    return call("compile", "net.onnx", "-o", "net.so", "--tune", "off", *pins, *options, cwd=folder).stdout


@pytest.mark.parametrize(
    "command",
    [
        (
            "compile",
            "net.onnx",
            "-o",
            "other.so",
            "--backends",
            "halide,onnxruntime",
            "--shape",
            "x=1x8x64x64",
        ),
        ("run", "net.so"),
        ("run", "net.so", "--profile"),
        ("run", "net.so", "--profile", "--all-rows", "--runs", "3"),
        ("bench", "net.so", "-t", "0.1", "--against", "onnxruntime,openvino", "--profile"),
        ("check", "net.onnx", "--tune", "off"),
        ("check", "net.so"),
        ("explain", "net.onnx"),
        ("explain", "net.so"),
    ],
)
def test_lines_fit(folder, command):
    text = call(*command, cwd=folder).stdout
    assert [line for line in text.splitlines() if len(line) > 80] == [], text


COMMANDS = [
    "compile",
    "run",
    "check",
    "bench",
    "explain",
    "split",
    "tune-pack",
    "costs",
    "devices",
    "completion",
]


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_fits(command):
    text = call(*command, "--help").stdout
    assert [line for line in text.splitlines() if len(line) > 80] == [], text
    wide = call(*command, "--help", env={"COLUMNS": "130"}).stdout
    assert 80 < max(map(len, wide.splitlines())) <= 130 and wide.split() == text.split()
    assert "\n\n\n" not in text and ":{" not in text and " in [1 - " not in text


def test_help_has_what_most_want_first():
    text = call("compile", "--help").stdout
    groups = re.findall(r"^(\w[\w ]+):$", text, re.MULTILINE)
    assert groups[:3] == ["Arguments", "Options", "What runs where"] and groups[-1] == "Examples"
    first = text[text.index("Options:") : text.index("What runs where:")]
    assert all(f"  {name}" in first for name in ("-o,", "-d,", "--threads N", "--shape", "--json", "-q,"))
    assert "--pin" not in first and "Usage: intarsia compile [OPTIONS] [MODEL]\n" in text


def test_many_regions_are_summed_up(folder):
    text = compile_net(folder)
    assert "  regions   27: 14 on halide@cpu (14 nodes), 13 on onnxruntime@cpu (13 nodes)\n" in text
    assert len(re.findall("^  region [0-9]", text, re.M)) == 3
    assert "intarsia explain net.so" in text
    assert (
        len(
            re.findall(
                "^  [0-9]+ (halide|onnxruntime)@cpu: 1 node",
                call("explain", "net.so", cwd=folder).stdout,
                re.M,
            )
        )
        == 27
    )
    assert "intarsia explain net.onnx" in compile_net(folder, "--dry-run")


def test_many_copies_are_summed_up(folder):
    pins = ["--pin", "node_linear_*=halide@accel", "--backends", "halide"]
    options = ["-d", "cpu,accel=sim:0", *pins, "--tune", "off", "--dry-run"]
    text = call("compile", "net.onnx", *options, cwd=folder).stdout
    assert "  copies    26, 3.2 MB: 13 accel -> cpu, 13 cpu -> accel\n" in text
    assert "  copy  " not in text


def test_a_profile_of_two_backends_names_the_nodes(folder):
    text = call("run", "net.so", "--profile", "--all-rows", "--runs", "3", cwd=folder).stdout
    assert "…" not in text, text
    assert all(name_of(number) in text for number in range(27))
    assert "backend" in text and "onnxruntime" in text and "@cpu" not in text


def test_bench_says_which_is_faster(folder):
    text = call("bench", "net.so", "-t", "0.1", "--against", "onnxruntime", cwd=folder).stdout
    times = {line.split()[0]: float(line.split()[2]) for line in text.splitlines()[2:4]}
    ratio = re.search(
        r"^  (\w+) is ([0-9.]+) times as fast as (\w+) by medians, [0-9.]+ times by minima$", text, re.M
    )
    assert {ratio[1], ratio[3]} == {"intarsia", "onnxruntime"}
    assert times[ratio[1]] <= times[ratio[3]]  # as printed, they may be equal
    assert float(ratio[2]) == pytest.approx(times[ratio[3]] / times[ratio[1]], abs=0.02)


def lines_on_a_terminal(folder, columns, *command):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [INTARSIA, *command], stdout=theirs, stderr=subprocess.DEVNULL, cwd=folder
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while more := os.read(ours, 4096):
                shown += more
        except OSError:
            pass  # the end of a terminal
        os.close(ours)
    assert process.returncode == 0
    return shown.decode().splitlines()


def test_terminals_of_other_widths(folder):
    """What has no room in 80 columns has it in 120; long lines go on below what they say."""
    command = ("run", "net.so", "--profile", "--runs", "3")
    wide = lines_on_a_terminal(folder, 120, *command)
    assert max(map(len, wide)) <= 120 and "Sigmoid" in "".join(wide)
    report = lines_on_a_terminal(folder, 60, "compile", "net.onnx", "--tune", "off", "--dry-run")
    assert max(map(len, report)) <= 60 and any(line.startswith(" " * 12) for line in report)


def test_run_says_whether_its_time_is_cold(folder):
    assert ", the first run, cold" in call("run", "net.so", cwd=folder).stdout
    assert (
        ", the median of 3 runs after one to warm up"
        in call("run", "net.so", "--runs", "3", cwd=folder).stdout
    )
    assert call_json("run", "net.so", cwd=folder)["cold"] is True
    assert call_json("run", "net.so", "--runs", "3", cwd=folder)["cold"] is False


def test_a_missing_library_costs_what_compile_says(folder, tmp_path):
    """Also that an interpreter is slow."""
    program, cache = tmp_path / "slow.so", tmp_path / "cache"
    backends = ("--backends", "reference,onnxruntime", "--cache", cache)
    text = " ".join(call("compile", "net.onnx", "-o", program, *backends, cwd=folder).stdout.split())
    said = re.search(
        r"otherwise reference@cpu: [0-9.]+ ms, where a library .* missing: ([0-9.e+]+) times slower", text
    )
    assert float(said[1]) > 1.05 and "reference is an interpreter, and slow" in text
    missing = {"INTARSIA_ONNXRUNTIME": str(tmp_path / "nothing.so")}
    note = " ".join(call("run", program, env=missing).stdout.split())
    assert "note runs on reference@cpu" in note and "an interpreter, and slow" in note
