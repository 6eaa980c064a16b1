"""Networks on emulated boards with a Cortex-M: instructions of a run, and what the programs take: a section of docs/performance.md.

    build/venv/bin/python bench/boards.py [--only WORD] [--print]

A plug-in of QEMU counts (tests/support/count_instructions.c): a run is half of what three runs execute more than one.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator

import keyword_spotting
import person_detection
from measuring import BIN, OUT, ROOT, json_of, table_arguments, write_table

TITLE = "## Networks on microcontrollers"
BOARDS = {"cortex-m4": "armv7e-m", "cortex-m7": "armv7e-m", "cortex-m55": "armv8.1-m.main"}
MAIN = """
#include "net.h"
static _Alignas(NET_ARENA_ALIGNMENT) unsigned char arena[NET_ARENA_BYTES];
static float input[%d], output[64];
int main(void) {
  const struct net_inputs inputs = {input};
  struct net_outputs outputs = {output};
  for (int run = 0; run < RUNS; ++run)
    if (net_run(&inputs, &outputs, arena) != NET_OK) return 1;
  return 0;
}
"""


def networks(folder: pathlib.Path) -> dict[str, tuple[pathlib.Path, int]]:
    """The models, each with the elements of its input."""
    made = {}
    for name, module, elements in (
        ("keyword spotting", keyword_spotting, keyword_spotting.FRAMES * keyword_spotting.COEFFICIENTS),
        ("person detection", person_detection, person_detection.SIZE**2),
    ):
        place = folder / name.replace(" ", "_")
        place.mkdir(parents=True, exist_ok=True)
        made[f"{name}, 8 bits"] = (module.save_quantized_network(place), elements)
        made[f"{name}, f32"] = (place / "real.onnx", elements)
    return made


def count_instructions(cpu: str, folder: pathlib.Path, plugin: pathlib.Path, runs: int) -> int:
    sources = ("main.c", "net.c", "net_constants.o", "libnet_kernels.a")
    command = [
        ROOT / "tests/support/board/run_on_board.sh",
        cpu,
        folder,
        "-std=c11",
        f"-DRUNS={runs}",
        *sources,
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PLUGIN": str(plugin)},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(re.search(r"instructions (\d+)", done.stdout + done.stderr)[1])


def measure(name: str, cpu: str, model: pathlib.Path, elements: int, plugin: pathlib.Path) -> list[str]:
    folder = model.with_name(f"{model.stem}_{cpu}")
    options = ("--emit", "c", "--tune", "off", "--arch", BOARDS[cpu], "--cpu", cpu)
    takes = json_of(BIN / "intarsia", "compile", model, "-o", folder / "net", *options, "--json")["plain_c"]
    (folder / "main.c").write_text(MAIN % elements)
    once, thrice = (count_instructions(cpu, folder, plugin, runs) for runs in (1, 3))
    code, constants = (
        takes["flash_bytes"]["code"] + takes["flash_bytes"]["data"],
        takes["flash_bytes"]["constants"],
    )
    return [
        name,
        cpu,
        f"{(thrice - once) / 2e6:.2f}",
        str(code),
        str(constants),
        str(takes["ram_bytes"]["arena"]),
    ]


def main() -> None:
    arguments = table_arguments(__doc__, 0, "a network whose name")
    folder = OUT / "boards"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    plugin = folder / "count.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O2", ROOT / "tests/support/count_instructions.c", "-o", plugin],
        check=True,
    )

    def rows() -> Iterator[list[str]]:
        for name, (model, elements) in networks(folder).items():
            for cpu in BOARDS:
                if arguments.only in name:
                    yield measure(name, cpu, model, elements, plugin)

    begin = [
        "Emulated by QEMU, which counts instructions, not cycles. Written by `bench/boards.py`; bytes of the kernels' code and data, of weights and of the arena "
        "([plain C](emit_c.md#microcontrollers)).",
        "",
        "| network | board | million instructions a run | kernels | weights | arena |",
        "|---|---|---|---|---|---|",
    ]
    write_table(TITLE, begin, rows(), arguments.print)


if __name__ == "__main__":
    main()
