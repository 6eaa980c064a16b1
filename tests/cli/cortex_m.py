"""Plain C for microcontrollers: keyword spotting and person detection on boards with a Cortex-M that QEMU emulates compute what
programs for this machine compute.

Covers: backends/halide/build/ thumb_code.cc
src/base/code/ find_clang.cc run_program.cc
"""

import json
import re
import shutil
import subprocess

import keyword_spotting
import numpy as np
import person_detection
import pytest
from cli_models import SOURCE, call, call_json, error_of, save_small
from control_flow_models import save_scan
from emitted_c import (
    assert_equal,
    emit,
    run_ordinary,
    undefined_symbols,
    values_for,
    write_board_caller,
    writable_sections,
)
from user_kernels import save_scales, write_kernel

TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm", "clang-19")
BOARDS = {"cortex-m4": "armv7e-m", "cortex-m7": "armv7e-m", "cortex-m55": "armv8.1-m.main"}
BOARD = SOURCE / "tests/support/board/run_on_board.sh"
FAST = ("--tune", "off")

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in TOOLS), reason=f"needs {', '.join(TOOLS)} (packages.txt)"
)


def emit_for(cpu, model, folder, *options):
    return emit(model, folder / "c", *FAST, "--arch", BOARDS[cpu], "--cpu", cpu, *options)


def run_on_board(cpu, folder, *sources):
    """Builds sources with what was emitted, and runs them. Returns what is printed."""
    command = [
        BOARD,
        cpu,
        folder,
        "-std=c11",
        "-Ic",
        "c/net.c",
        *sources,
        "c/net_constants.o",
        "c/libnet_kernels.a",
    ]
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


NETS = {
    "keyword spotting, f32": lambda folder: keyword_spotting.save_network(folder / "model.onnx"),
    "keyword spotting, 8 bits": keyword_spotting.save_quantized_network,
    "person detection, f32": lambda folder: person_detection.save_person_detection(folder / "model.onnx"),
    "person detection, 8 bits": person_detection.save_quantized_network,
}


@pytest.mark.parametrize("cpu", BOARDS)
@pytest.mark.parametrize("name", NETS)
def test_nets_compute_the_same(tmp_path, cpu, name):
    """On the recorded inputs, by the program's own test, and on others."""
    model = NETS[name](tmp_path)
    report = emit_for(cpu, model, tmp_path)
    assert "differs" not in run_on_board(cpu, tmp_path, "c/net_test.c")
    call("compile", model, "-o", tmp_path / "program.so", *FAST, "--threads", 1, "--fallback", "none")
    values = values_for(model, 5)
    for value, array in values.items():
        array.tofile(tmp_path / f"{value}.in")
    log = run_on_board(cpu, tmp_path, write_board_caller(tmp_path, report, tmp_path))
    for value, want in run_ordinary(tmp_path / "program.so", tmp_path, values).items():
        assert_equal(np.fromfile(tmp_path / f"{value}.out", want.dtype).reshape(want.shape), want, 1e-4)
    of_kernel, most = report["plain_c"]["ram_bytes"]["stack"], int(re.search(r"stack (\d+)", log)[1])
    assert 0 < of_kernel < 4096 and 0 < most < 16384


def test_branches_loops_and_kernels_of_users(tmp_path):
    source, library = write_kernel(tmp_path)
    for model, options, sources in (
        (save_scan(tmp_path / "scan.onnx"), (), ()),
        (save_scales(tmp_path / "scales.onnx"), ("--kernels", library), (source,)),
    ):
        emit_for("cortex-m4", model, tmp_path, *options)
        assert "ok" in run_on_board("cortex-m4", tmp_path, "c/net_test.c", *sources)


def test_objects_need_the_c_library_alone(tmp_path):
    report = emit_for("cortex-m4", keyword_spotting.save_quantized_network(tmp_path), tmp_path)
    objects = [tmp_path / "c" / name for name in report["plain_c"]["files"] if name.endswith((".o", ".a"))]
    assert undefined_symbols(*objects) <= {"memcpy", "memset", "memmove", "__aeabi_memclr"}
    assert writable_sections(*objects) == set()
    flags = subprocess.run(["readelf", "-A", *objects], capture_output=True, text=True, check=True).stdout
    assert "Tag_CPU_arch_profile: Microcontroller" in flags and "Tag_THUMB_ISA_use: Thumb-2" in flags


def test_a_keyword_spotter_fits_a_small_board(tmp_path):
    report = emit_for("cortex-m4", keyword_spotting.save_quantized_network(tmp_path), tmp_path)["plain_c"]
    assert report["ram_bytes"]["arena"] < 64 * 1024
    assert sum(report["flash_bytes"].values()) < 256 * 1024


SYSTICK = """
#include <stdint.h>

/* Counts the processor's cycles by SysTick, which has 24 bits and counts down. */
uint64_t board_clock(void) {
  static volatile uint32_t* const timer = (volatile uint32_t*)0xe000e010;
  static uint64_t cycles;
  static uint32_t last;
  if (timer[0] == 0) timer[1] = last = 0xffffff, timer[2] = 0, timer[0] = 5;
  const uint32_t now = timer[2];
  cycles += (last - now) & 0xffffff;
  last = now;
  return cycles;
}
"""


def test_times_of_a_board_choose_kernels(tmp_path):
    model = keyword_spotting.save_quantized_network(tmp_path)
    (tmp_path / "clock.c").write_text(SYSTICK)
    options = ("--arch", "armv7e-m", "--cpu", "cortex-m4", "--cache", tmp_path / "cache")
    emit(model, tmp_path / "c", *options)
    defined = ("-DINTARSIA_PROFILE", '-DBOARD_TEST="net_test.c"', "-DBOARD_HERTZ=25000000")
    printed = run_on_board("cortex-m4", tmp_path, *defined, "clock.c", SOURCE / "bench/board.c")
    (tmp_path / "times.json").write_text(printed)
    kernels = json.loads(printed)["kernels"]
    imported = call_json("costs", "import", tmp_path / "times.json", "--cache", tmp_path / "cache")
    assert (imported["cpu"], imported["taken"]) == ("cortex-m4", len(kernels))
    tuning = emit(model, tmp_path / "again", *options)["tuning"]
    assert tuning["imported"]["cpu"] == "cortex-m4" and 0 < tuning["remembered"] <= len(kernels)


def test_ordinary_programs_are_not_for_microcontrollers(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    error = error_of("compile", model, "-o", tmp_path / "p.so", "--arch", "armv7e-m")
    assert "compile to C with --emit c" in error
