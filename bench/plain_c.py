"""Plain C (`compile --emit c`) beside ordinary programs of the same kernels: a section of docs/performance.md.

    build/venv/bin/python bench/plain_c.py [--seconds S] [--only WORD] [--print]

One thread. Both run in turn in one process, the C as a shared object that gcc -O2 made of net.c; times are the least. Glue: the code of
net.c, which is all that is not a kernel.
"""

from __future__ import annotations

import ctypes
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator

import keyword_spotting
import numpy as np
import onnx
from bound_models import bind_ours
from measuring import BIN, OUT, ROOT, json_of, processor, table_arguments, times_in_turn, write_table
from onnx import TensorProto, helper, numpy_helper

TITLE = "## Plain C"
FOLDER = OUT / "plain_c"
STEPS = 200


def save_steps(path: pathlib.Path) -> pathlib.Path:
    """A chain of sums along alternating axes, each a kernel of almost no work: its time is that of calls."""
    nodes = []
    for i in range(STEPS // 2):
        nodes.append(helper.make_node("CumSum", [f"x{2 * i}", "zero"], [f"x{2 * i + 1}"], f"down{i}"))
        nodes.append(helper.make_node("CumSum", [f"x{2 * i + 1}", "one"], [f"x{2 * i + 2}"], f"along{i}"))
    graph = helper.make_graph(
        nodes,
        "steps",
        [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_value_info(f"x{STEPS}", TensorProto.FLOAT, [2, 2])],
        [numpy_helper.from_array(np.array(axis), name) for name, axis in (("zero", 0), ("one", 1))],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def models() -> dict[str, pathlib.Path]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    named = {
        name: ROOT / f"build/models/{name}.onnx" for name in ("resnet50", "mobilenetv2", "efficientnetb0")
    }
    return named | {
        "keyword spotting, f32": keyword_spotting.save_network(FOLDER / "real.onnx"),
        "keyword spotting, int8": keyword_spotting.save_quantized_network(FOLDER),
        f"{STEPS} steps without work": save_steps(FOLDER / "steps.onnx"),
    }


class PlainC:
    """An emitted model, as a shared object in this process."""

    def __init__(
        self, model: pathlib.Path, shapes: list[str], inputs: list[np.ndarray], outputs: list[np.ndarray]
    ) -> None:
        folder = FOLDER / model.stem
        shutil.rmtree(folder, ignore_errors=True)
        command = ["compile", model, "--emit", "c", "-o", folder / "net", "--json", "-q", *shapes]
        self.report = json_of(BIN / "intarsia", *command)["plain_c"]
        flags = ["-std=c11", "-O2", "-fPIC"]
        subprocess.run(["gcc", *flags, "-c", "net.c"], cwd=folder, check=True)
        files = ["net.o", "libnet_kernels.a", "net_constants.o", "-lm"]
        subprocess.run(["gcc", "-shared", "-o", "net.so", *files], cwd=folder, check=True)
        sizes = subprocess.run(["size", folder / "net.o"], check=True, capture_output=True, text=True)
        self.glue_bytes = int(sizes.stdout.splitlines()[1].split()[0])
        self.steps = (folder / "net.c").read_text().count("\n  RUN(")
        self.arrays = [*inputs, *outputs]  # which the calls refer to
        pointers = [
            (ctypes.c_void_p * max(len(several), 1))(*(a.ctypes.data for a in several))
            for several in (inputs, outputs)
        ]
        arena = np.zeros(self.report["ram_bytes"]["arena"] + 64, np.uint8)
        self.arrays.append(arena)
        self.arguments = (*pointers, ctypes.c_void_p(-(-arena.ctypes.data // 64) * 64))
        self.function = ctypes.CDLL(str(folder / "net.so")).net_run

    def run(self) -> None:
        assert self.function(*self.arguments) == 0


def measure(name: str, model: pathlib.Path, seconds: float) -> list[str]:
    print(name, file=sys.stderr, flush=True)
    random = np.random.default_rng(1)
    inputs = {}
    for info in onnx.load(model, load_external_data=False).graph.input:
        inputs[info.name] = random.standard_normal(
            [size.dim_value or 1 for size in info.type.tensor_type.shape.dim], np.float32
        )
    shapes = [f"--shape={name}={'x'.join(map(str, value.shape))}" for name, value in inputs.items()]
    session = bind_ours(model, FOLDER / "ordinary.so", 1, *shapes)
    wanted = session.run(inputs)
    outputs = {one: np.zeros_like(value) for one, value in wanted.items()}
    plain = PlainC(model, shapes, list(inputs.values()), list(outputs.values()))
    plain.run()
    for one, value in wanted.items():
        assert np.abs(outputs[one] - value).max() <= 1e-4 * np.abs(value).max(), one
    runs = {"ordinary": lambda: session.run(inputs, None, outputs), "plain": plain.run}
    ordinary, emitted = (1e3 * min(times) for times in times_in_turn(runs, seconds).values())
    code = plain.report["flash_bytes"]["code"] + plain.report["flash_bytes"]["data"]
    return [
        name,
        f"{ordinary:.3f}",
        f"{emitted:.3f}",
        f"{emitted / ordinary:.3f}",
        str(plain.steps),
        f"{plain.glue_bytes / 1024:.1f}",
        f"{code / 1024:.0f}",
        f"{plain.report['flash_bytes']['constants'] / 1024:.0f}",
        f"{plain.report['ram_bytes']['arena'] / 1024:.0f}",
    ]


def rows(only: str, seconds: float) -> Iterator[list[str]]:
    for name, model in models().items():
        if only in name:
            yield measure(name, model, seconds)


def main() -> None:
    arguments = table_arguments(__doc__, 10, "model whose name")
    begin = [
        f"Programs of one thread for {processor()}, and the same model as plain C, in turn in one process; the least times. Glue is",
        "the code of `net.c`; the rest is kernels, with the read-only data that they have.",
        "",
        "| Model | ordinary ms | plain C ms | plain / ordinary | steps | glue KB | kernels KB | weights KB | arena KB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    write_table(TITLE, begin, rows(arguments.only, arguments.seconds), arguments.print)


if __name__ == "__main__":
    main()
