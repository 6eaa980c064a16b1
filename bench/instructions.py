"""Instructions that code for AArch64 executes: writes the section "Code for AArch64" of docs/performance.md.

    build/venv/bin/python bench/instructions.py [--only WORD] [--print]

Rows are layers of ResNet50, MobileNetV2 and BERT, and MobileNetV2 as a whole. Ours
and ONNX Runtime's run in the same program under qemu-user, whose plug-in counts (tests/support/count_instructions.c): a run is what a second
one adds. Nothing is timed. Needs build/runtime-only-aarch64 (scripts/other_cpus.sh aarch64) and, once, the wheel index of pip
for ONNX Runtime's library for AArch64.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from measuring import BIN, OUT, PYTHON, ROOT, json_of, table_arguments, write_table
from model_work import ModelWork, bound_shapes
from onnx import TensorProto, helper, numpy_helper

TITLE = "## Code for AArch64"
FOLDER = OUT / "aarch64"
LIBRARIES = "/usr/aarch64-linux-gnu/lib"


@dataclass
class Layer:
    """A convolution, or a product of matrices of `rows` rows where `picture` is 0. `outputs`: of the layer, from which another of
    its kind leads back to `inputs`, so that any number of pairs follow each other."""

    model: str
    inputs: int
    outputs: int
    picture: int = 0
    kernel: int = 1
    group: int = 1
    rows: int = 0

    def name(self) -> str:
        sizes = f"{self.inputs} to {self.outputs} and back"
        if self.group > 1:
            sizes = f"depthwise of {self.inputs}"
        if self.picture == 0:
            return f"{self.model}: products of {self.rows} rows, {sizes}"
        return f"{self.model}: {self.kernel}x{self.kernel}, {sizes}, {self.picture}x{self.picture}"

    def multiply_adds(self) -> int:
        """Of a pair."""
        places = self.rows or self.picture**2 * self.kernel**2
        return 2 * places * self.inputs * self.outputs // self.group

    def save(self, path: pathlib.Path, pairs: int) -> None:
        random = np.random.default_rng(1)
        nodes, constants = [], []
        for i, (before, after) in enumerate(
            [(self.inputs, self.outputs), (self.outputs, self.inputs)] * pairs
        ):
            shape = (before, after) if self.rows else (after, before // self.group, self.kernel, self.kernel)
            weights = random.standard_normal(shape) / before
            constants.append(numpy_helper.from_array(weights.astype(np.float32), f"w{i}"))
            if self.rows:
                node = helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"])
            else:
                pads = [self.kernel // 2] * 4
                node = helper.make_node(
                    "Conv", [f"x{i}", f"w{i}"], [f"x{i + 1}"], pads=pads, group=self.group
                )
            nodes += [node]
        sizes = [self.rows, self.inputs] if self.rows else [self.inputs, self.picture, self.picture]
        graph = helper.make_graph(
            nodes,
            "layers",
            [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, *sizes])],
            [onnx.ValueInfoProto(name=nodes[-1].output[0])],
            constants,
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


LAYERS = [
    Layer("ResNet50", 64, 256, 56),
    Layer("ResNet50", 512, 128, 28),
    Layer("ResNet50", 128, 128, 28, 3),
    Layer("ResNet50", 256, 1024, 14),
    Layer("MobileNetV2", 24, 144, 56),
    Layer("MobileNetV2", 144, 144, 56, 3, group=144),
    Layer("MobileNetV2", 384, 64, 14),
    Layer("MobileNetV2", 320, 1280, 7),
    Layer("BERT", 768, 768, rows=128),
    Layer("BERT", 768, 3072, rows=128),
]
WHOLE = ROOT / "build/models/mobilenetv2.onnx"


def onnxruntime_library() -> pathlib.Path:
    """ONNX Runtime for AArch64, of the version that is installed here."""
    folder = FOLDER / f"onnxruntime-{onnxruntime.__version__}"
    pattern = "onnxruntime/capi/libonnxruntime.so*"
    if not list(folder.glob(pattern)):
        command = [
            PYTHON,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "-d",
            folder,
        ]
        platforms = ["--platform", "manylinux_2_28_aarch64", "--platform", "manylinux_2_27_aarch64"]
        subprocess.run([*command, *platforms, f"onnxruntime=={onnxruntime.__version__}"], check=True)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            wheel.extractall(folder)
    return next(folder.glob(pattern))


def make_root() -> pathlib.Path:
    """Where the emulator looks for files first: the C library, and a description of the processor that is emulated. ONNX Runtime
    would read that of this machine, and crash."""
    root = FOLDER / "root"
    (root / "proc").mkdir(parents=True, exist_ok=True)
    (root / "lib").unlink(missing_ok=True)
    (root / "lib").symlink_to(LIBRARIES)
    one = (
        "Features: fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp",
        "CPU implementer: 0x41",
        "CPU architecture: 8",
        "CPU variant: 0x3",
        "CPU part: 0xd0b",
        "CPU revision: 1",
    )
    cores = ["\n".join((f"processor: {core}", *one, "")) for core in range(os.cpu_count() or 1)]
    (root / "proc/cpuinfo").write_text("\n".join(cores))
    return root


class Emulator:
    def __init__(self) -> None:
        for tool in ("qemu-aarch64", "aarch64-linux-gnu-objdump"):
            if shutil.which(tool) is None:
                raise SystemExit(f"{tool} is not installed (packages.txt)")
        self._runner = next((ROOT / "build/runtime-only-aarch64").rglob("run_raw"), None)
        if self._runner is None:
            raise SystemExit("build/runtime-only-aarch64 is missing: scripts/other_cpus.sh aarch64")
        self._counter = FOLDER / "count_instructions.so"
        source = ROOT / "tests/support/count_instructions.c"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", self._counter], check=True)
        self._root = make_root()
        self._environment = {**os.environ, "INTARSIA_ONNXRUNTIME": str(onnxruntime_library())}

    def count(self, program: pathlib.Path, runs: int) -> int:
        emulator = ["qemu-aarch64", "-cpu", "cortex-a76", "-L", self._root, "-plugin", self._counter]
        command = [*emulator, self._runner, program, FOLDER, str(runs)]
        done = subprocess.run(command, env=self._environment, check=True, capture_output=True, text=True)
        return int(re.search(r"^instructions (\d+)$", done.stderr, re.MULTILINE)[1])

    def instructions_of_run(self, program: pathlib.Path) -> int:
        return self.count(program, 2) - self.count(program, 1)


@dataclass
class Loop:
    instructions: int = 1
    multiplies: int = 0
    of_stack: int = 0


def inner_loops(program: pathlib.Path) -> Iterator[Loop]:
    """The loops of a program that contain no others, from its disassembly: those that a branch backward ends."""
    command = ["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", program]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for function in re.split(r"^[0-9a-f]+ <.*>:$", text, flags=re.MULTILINE):
        code = [
            (int(at, 16), name, operands)
            for at, name, operands in re.findall(r"^\s+([0-9a-f]+):\t(\S+)\s*(.*)$", function, re.MULTILINE)
        ]
        jumps = [(at, re.match(r"(?:\S+, )*([0-9a-f]+) <", operands)) for at, _, operands in code]
        loops = [(int(to[1], 16), at) for at, to in jumps if to and int(to[1], 16) <= at]
        for begin, end in loops:
            if any((begin, end) != other and begin <= other[0] and other[1] <= end for other in loops):
                continue
            body = [(name, operands) for at, name, operands in code if begin <= at <= end]
            multiplies = sum(name == "fmla" for name, _ in body)
            yield Loop(len(body), multiplies, sum("[sp" in operands for _, operands in body))


def main_loop(program: pathlib.Path) -> Loop:
    return max(inner_loops(program), key=lambda loop: loop.multiplies, default=Loop())


def compile_for(model: pathlib.Path, backend: str) -> pathlib.Path:
    program = FOLDER / f"{backend}.so"
    options = [
        "--arch",
        "aarch64",
        "--cpu",
        "cortex-a76",
        "--threads",
        "1",
        "--tune",
        "off",
        "-q",
        *bound_shapes(model),
    ]
    subprocess.run(
        [BIN / "intarsia", "compile", model, "-o", program, "--backends", backend, *options], check=True
    )
    for value in json_of(BIN / "intarsia", "explain", program, "--json")["inputs"]:
        array = np.random.default_rng(2).standard_normal(value["shape"]).astype(np.float32)
        array.tofile(FOLDER / f"{value['name']}.in")
    return program


def cells(ours: int, theirs: int, multiply_adds: int) -> list[str]:
    return [f"{ours / 1e6:.2f}", f"{multiply_adds / ours:.2f}", f"{ours / theirs:.2f}"]


def measure_layer(emulator: Emulator, layer: Layer) -> list[str]:
    counts = {"halide": [], "onnxruntime": []}
    for pairs in (1, 2):
        model = FOLDER / f"layers{pairs}.onnx"
        layer.save(model, pairs)
        for backend, count in counts.items():
            count.append(emulator.instructions_of_run(compile_for(model, backend)))
    loop = main_loop(FOLDER / "halide.so")
    ours, theirs = (more - less for less, more in counts.values())
    return [
        layer.name(),
        f"{loop.multiplies / loop.instructions:.0%}",
        str(loop.of_stack),
        *cells(ours, theirs, layer.multiply_adds()),
    ]


def measure_model(emulator: Emulator, name: str, model: pathlib.Path) -> list[str]:
    ours, theirs = (
        emulator.instructions_of_run(compile_for(model, backend)) for backend in ("halide", "onnxruntime")
    )
    return [name, "", "", *cells(ours, theirs, ModelWork(model).multiply_adds)]


def rows(only: str) -> Iterator[list[str]]:
    emulator = Emulator()
    for layer in LAYERS:
        if only in layer.name():
            yield measure_layer(emulator, layer)
    name = "MobileNetV2, all of it"
    if only in name:
        yield measure_model(emulator, name, WHOLE)


def main() -> None:
    arguments = table_arguments(__doc__, 0, "layer whose name")
    FOLDER.mkdir(parents=True, exist_ok=True)
    begin = [
        "Instructions under an emulator, of one thread, for Cortex-A76; no times. The inner loop: the share of `fmla`, and the",
        "instructions that use the stack. Layers are in pairs, there and back: a row has what a second pair adds. Below 1.0",
        "in the last column, ours executes fewer than ONNX Runtime.",
        "",
        "| Layer | `fmla` | Stack | Million instructions | Multiply-adds per instruction | of ONNX Runtime's |",
        "|---|---|---|---|---|---|",
    ]
    write_table(TITLE, begin, rows(arguments.only), arguments.print)


if __name__ == "__main__":
    main()
