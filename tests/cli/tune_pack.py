"""Times of kernels from elsewhere: a folder that times kernels on another machine, here an emulated one, files of times, and
kernels chosen by them.

Covers: cli/commands/ costs.cc
src/api/ costs_api.cc
src/base/files/ staged_folder.cc
src/compile/ tune_pack.cc tuning.cc
src/target/ cost_file.cc exchange_costs.cc
backends/halide/timer/ timer.c
backends/halide/tune/ tune_kernels.cc
"""

import functools
import json
import os
import resource
import shutil
import signal
import subprocess

import intarsia
import numpy as np
import pytest
from cli_models import (
    INTARSIA,
    SOURCE,
    TensorProto,
    call,
    call_json,
    error_of,
    helper,
    numpy_helper,
    save,
    save_relu,
    skip_on_a_busy_machine,
)

BOARD = ("--arch", "aarch64", "--cpu", "cortex-a72", "--fallback", "none")
EMULATOR = "qemu-aarch64-static"
LIBRARIES = "/usr/aarch64-linux-gnu"
emulated = pytest.mark.skipif(
    shutil.which(EMULATOR) is None or not os.path.isdir(LIBRARIES),
    reason=f"no {EMULATOR}, or no libraries for it in {LIBRARIES}",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A convolution and a product, which have variants to choose from."""
    rng = np.random.default_rng(1)
    constants = [("w", (16, 8, 3, 3)), ("m", (12, 20))]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("MatMul", ["b", "m"], ["y"], "product"),
    ]
    return save(
        tmp_path_factory.mktemp("model") / "net.onnx",
        nodes,
        [("x", TensorProto.FLOAT, [1, 8, 12, 12])],
        [("y", TensorProto.FLOAT, [1, 16, 12, 20])],
        [
            numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
            for name, shape in constants
        ],
    )


def pack(model, folder, threads):
    """Makes a folder, without what other tests generated; skips where Intarsia has no code for the board to link."""
    command = (
        "tune-pack",
        model,
        "-o",
        folder,
        *BOARD,
        "--threads",
        threads,
        "--cache",
        folder.parent / "new",
    )
    done = subprocess.run(
        [INTARSIA, *map(str, command), "--json"], capture_output=True, text=True, timeout=300
    )
    if "build Intarsia again" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_there(folder, status=0, emulator=EMULATOR):
    environment = {**os.environ, "RUNNER": f"{emulator} -L {LIBRARIES}", "CC": "false"}
    done = subprocess.run(
        ["sh", folder / "run.sh"], env=environment, cwd="/", capture_output=True, text=True, timeout=300
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stderr


def kernels_of(folder):
    lines = (folder / "kernels.txt").read_text().splitlines()
    return [line.split()[1] for line in lines if line.startswith("kernel ")]


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    """The kernels for one thread, and their times under the emulator."""
    folder = tmp_path_factory.mktemp("pack") / "pack"
    report = pack(model, folder, 1)
    assert (report["architecture"], report["cpu"], report["threads"]) == ("aarch64", "cortex-a72", 1)
    assert report["kernels"] == len(kernels_of(folder)) > 4
    return folder


@pytest.fixture(scope="module")
def times(folder):
    if shutil.which(EMULATOR) is None or not os.path.isdir(LIBRARIES):
        pytest.skip(f"no {EMULATOR}, or no libraries for it")
    run_there(folder)
    return json.loads((folder / "times.json").read_text())


@pytest.fixture
def some_times(folder):
    """A file of times as a board writes it, where none can be emulated."""
    head = dict(line.split(maxsplit=1) for line in (folder / "kernels.txt").read_text().splitlines()[:6])
    backend, version, code = head["generator"].split()
    return {
        "intarsia_costs": 1,
        "machine": {"name": "a board", "architecture": head["architecture"]},
        "cpu": head["cpu"],
        "generator": {"backend": backend, "version": version, "code": code},
        "kernels": [
            {"digest": digest, "threads": 1, "precision": "f32", "seconds": 0.001}
            for digest in kernels_of(folder)
        ],
    }


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def compile_for_board(model, program, cache, *options):
    return call_json("compile", model, "-o", program, *BOARD, "--threads", 1, "--cache", cache, *options)[
        "tuning"
    ]


def check_fastest(times, program):
    """The fastest kernel of all is in the program; that of the formula is preferred to one 2% faster."""
    seconds = {kernel["digest"]: kernel["seconds"] for kernel in times["kernels"]}
    chosen = [seconds[digest] for digest in seconds if digest.encode() in program]
    assert len(chosen) == 2, "one of each operator"
    assert min(chosen) * 0.98 <= min(seconds.values())


def test_a_folder_has_all_that_the_board_needs(folder):
    names = {"kernels.so", "kernels.txt", "timer", "timer.c", "halide_abi.h", "run.sh"}
    assert names <= {path.name for path in folder.iterdir()}
    assert not [path for path in folder.parent.iterdir() if ".new-" in path.name]
    for binary in ("kernels.so", "timer"):
        assert int.from_bytes((folder / binary).read_bytes()[18:20], "little") == 183  # AArch64
    assert os.access(folder / "timer", os.X_OK) and os.access(folder / "run.sh", os.X_OK)


def test_times_of_the_board_choose_kernels(model, folder, times, tmp_path):
    assert {kernel["digest"] for kernel in times["kernels"]} == set(kernels_of(folder))
    assert all(kernel["seconds"] > 0 and kernel["spread"] >= 0 for kernel in times["kernels"])
    cache = tmp_path / "cache"
    before = compile_for_board(model, tmp_path / "before.so", cache)
    assert before["disabled_reason"] == "code for cortex-a72 cannot run here" and before["imported"] is None
    imported = call_json("costs", "import", folder / "times.json", "--cache", cache)
    assert (imported["cpu"], imported["machine"]) == ("cortex-a72", times["machine"]["name"])
    assert (imported["taken"], imported["known"]) == (len(times["kernels"]), 0)
    again = call_json("costs", "import", folder / "times.json", "--cache", cache)
    assert (again["taken"], again["known"]) == (0, len(times["kernels"]))
    after = compile_for_board(model, tmp_path / "after.so", cache)
    assert (after["measured"], after["remembered"]) == (0, len(times["kernels"]))
    assert after["disabled_reason"] is None and after["untimed"] == 0
    assert after["imported"]["cpu"] == "cortex-a72"
    program = (tmp_path / "after.so").read_bytes()
    check_fastest(times, program)
    assert compile_for_board(model, tmp_path / "same.so", cache)["warning"] is None
    assert (tmp_path / "same.so").read_bytes() == program


def test_other_times_choose_other_kernels(model, folder, some_times, tmp_path):
    for winner in some_times["kernels"]:
        winner["seconds"] = 1e-6
        call("costs", "import", write(tmp_path / "times.json", some_times), "--cache", tmp_path / "cache")
        winner["seconds"] = 1e-3
        tuning = compile_for_board(model, tmp_path / "net.so", tmp_path / "cache")
        assert tuning["remembered"] == len(some_times["kernels"])
        program = (tmp_path / "net.so").read_bytes()
        assert winner["digest"].encode() in program
        chosen = [
            kernel["digest"] for kernel in some_times["kernels"] if kernel["digest"].encode() in program
        ]
        assert len(chosen) == 2, "one of each operator"


def test_the_report_says_whose_times_they_are(model, some_times, tmp_path):
    less = {**some_times, "kernels": some_times["kernels"][:-1]}
    call("costs", "import", write(tmp_path / "times.json", less), "--cache", tmp_path / "cache")
    command = (
        "compile",
        model,
        "-o",
        tmp_path / "net.so",
        *BOARD,
        "--cache",
        tmp_path / "cache",
        "--threads",
    )
    said = " ".join(call(*command, 1).stdout.split())
    assert "kernels chosen by times of cortex-a72, imported 20" in said
    assert f"of {len(less['kernels'])} variants; 1 has no time" in said
    said = " ".join(call(*command, 3).stdout.split())
    assert (
        "chosen by formula: code for cortex-a72 cannot run here, and no time imported for cortex-a72 is"
        in said
    )
    assert "chosen by formula: --tune off" in call(*command, 1, "--tune", "off").stdout


@pytest.mark.skipif(
    shutil.which("qemu-aarch64") is None or not os.path.isdir(LIBRARIES),
    reason=f"no qemu-aarch64, which takes plug-ins, or no libraries for it in {LIBRARIES}",
)
def test_instructions_stand_in_for_time(model, folder, tmp_path):
    counter = tmp_path / "count.so"
    source = SOURCE / "tests/support/count_instructions.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", counter], check=True)
    counts = []
    for name in ("first", "second"):
        shutil.copytree(folder, tmp_path / name)
        run_there(tmp_path / name, emulator=f"qemu-aarch64 -plugin {counter},clock=instructions")
        counts.append(json.loads((tmp_path / name / "times.json").read_text()))
    for first, second in zip(*(count["kernels"] for count in counts), strict=True):
        assert first["digest"] == second["digest"]
        assert abs(first["seconds"] / second["seconds"] - 1) < 0.01 and first["spread"] < 0.01
    call("costs", "import", tmp_path / "first/times.json", "--cache", tmp_path / "cache")
    compile_for_board(model, tmp_path / "net.so", tmp_path / "cache")
    check_fastest(counts[0], (tmp_path / "net.so").read_bytes())


@emulated
def test_threads_are_timed_as_such(model, tmp_path):
    pack(model, tmp_path / "pack", 2)
    run_there(tmp_path / "pack")
    times = json.loads((tmp_path / "pack/times.json").read_text())
    assert {kernel["threads"] for kernel in times["kernels"]} == {2}
    call("costs", "import", tmp_path / "pack/times.json", "--cache", tmp_path / "cache")
    command = ("compile", model, "-o", tmp_path / "net.so", *BOARD, "--cache", tmp_path / "cache")
    tuning = call_json(*command, "--threads", 2)["tuning"]
    assert tuning["untimed"] == 0 and tuning["remembered"] > 6


@emulated
def test_a_damaged_list_is_an_error_there(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "pack")
    list_of_kernels = (folder / "kernels.txt").read_text()
    for damaged in (
        list_of_kernels[: len(list_of_kernels) // 2],
        list_of_kernels.replace("batch ", "batch 1", 1).replace("workspace 0", "workspace 99999999999", 1),
        list_of_kernels.replace("f32 4 1", "f31 4 1", 1),
        list_of_kernels.replace("intarsia_tune_pack 1", "intarsia_tune_pack 2"),
    ):
        (tmp_path / "pack/kernels.txt").write_text(damaged)
        said = run_there(tmp_path / "pack", status=1)
        assert "error: 'kernels.txt' is damaged: write the folder again with intarsia tune-pack" in said
    (tmp_path / "pack/kernels.txt").write_text(list_of_kernels.replace("_argv", "_argw", 1))
    assert "error: the library has no kernel" in run_there(tmp_path / "pack", status=1)


def test_times_go_from_one_cache_to_another(tmp_path):
    weights = numpy_helper.from_array(np.ones((16, 16, 3, 3), np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], "conv", pads=[1, 1, 1, 1])]
    shape = [1, 16, 16, 16]
    model = save(
        tmp_path / "net.onnx",
        nodes,
        [("x", TensorProto.FLOAT, shape)],
        [("y", TensorProto.FLOAT, shape)],
        [weights],
    )
    command = ("compile", model, "-o", tmp_path / "net.so", "--threads", 1, "--fallback", "none", "--cache")
    first = call_json(*command, tmp_path / "a")
    skip_on_a_busy_machine(first)
    exported = call_json("costs", "export", tmp_path / "times.json", "--cache", tmp_path / "a")
    assert exported["cpu"] == "native" and exported["kernels"] >= first["tuning"]["measured"] > 1
    imported = call_json("costs", "import", tmp_path / "times.json", "--cache", tmp_path / "b")
    assert imported["taken"] == exported["kernels"]
    again = call_json(*command, tmp_path / "b")["tuning"]
    assert again["measured"] == 0 and again["remembered"] == first["tuning"]["measured"]
    assert again["imported"] is None, "they are this machine's own"


def test_imported_times_are_exported_again(some_times, tmp_path):
    file = write(tmp_path / "times.json", some_times)
    call("costs", "import", file, "--cache", tmp_path / "a")
    call("costs", "export", tmp_path / "again.json", "--cpu", "cortex-a72", "--cache", tmp_path / "a")
    again = json.loads((tmp_path / "again.json").read_text())
    assert (again["machine"], again["cpu"]) == (some_times["machine"], "cortex-a72")
    assert {(kernel["digest"], kernel["seconds"]) for kernel in again["kernels"]} == {
        (kernel["digest"], kernel["seconds"]) for kernel in some_times["kernels"]
    }


def other(times, **changes):
    return {**times, **changes}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda times: "", "it is not JSON"),
        (lambda times: json.dumps(times)[:-9], "it is not JSON"),
        (lambda times: "[1]", "want an object, got an array"),
        (lambda times: other(times, intarsia_costs=2), '"intarsia_costs": got 2, want 1'),
        (lambda times: json.dumps(times).replace("0.001", "NaN", 1), "it is not JSON"),
        (
            lambda times: json.dumps(times).replace("0.001", "-0.001", 1),
            'kernel 0: "seconds": got -0.001, want a number from 1e-09 to 1e+06',
        ),
        (lambda times: other(times, cpu="cortex-a54"), "--cpu cortex-a54: want "),
        (
            lambda times: other(times, cpu="rv64gcv"),
            '"machine": its architecture is aarch64, and "cpu" rv64gcv is of riscv64',
        ),
        (
            lambda times: other(
                times, cpu="native", machine={"name": "another PC", "architecture": "x86_64"}
            ),
            "it has times of native code of the machine 'another PC', which no compile on this machine, ",
        ),
        (
            lambda times: other(
                times, cpu="x86-64-v2", machine={"name": "another PC", "architecture": "x86_64"}
            ),
            "which runs on this machine, ",
        ),
        (
            lambda times: other(times, generator={**times["generator"], "code": "0123456789abcdef"}),
            "measure again with what this version writes (intarsia tune-pack, or compile and costs export)",
        ),
        (
            lambda times: other(times, kernels=times["kernels"] + times["kernels"][:1]),
            "is there twice for 1 threads",
        ),
    ],
)
def test_files_of_no_use_are_refused_whole(model, some_times, tmp_path, damage, message):
    file, cache = write(tmp_path / "times.json", damage(some_times)), tmp_path / "cache"
    said = error_of("costs", "import", file, "--cache", cache)
    assert f"times '{file}': " in said and message in said
    assert not (cache / "costs.sqlite").exists()
    assert compile_for_board(model, tmp_path / "net.so", cache)["imported"] is None


def test_what_cannot_be_read_or_written_is_one_error(model, some_times, tmp_path):
    file, blocked = write(tmp_path / "times.json", some_times), tmp_path / "blocked"
    assert "No such file" in error_of("costs", "import", tmp_path / "none.json")
    blocked.write_text("in the way")
    said = error_of("costs", "import", file, "--cache", blocked)
    assert f"the times cannot be kept in '{blocked}/costs.sqlite'" in said and "--cache" in said
    tuning = compile_for_board(model, tmp_path / "net.so", blocked)
    assert tuning["imported"] is None and "--cache" in tuning["warning"]
    assert "it is a folder" in error_of("costs", "import", tmp_path, "--cache", blocked)
    assert "no time of a kernel of this version is known" in error_of(
        "costs", "export", tmp_path / "out.json", "--cache", tmp_path / "empty"
    )
    assert not (tmp_path / "out.json").exists()
    said = error_of(
        "costs", "export", tmp_path / "out.json", "--cpu", "cortex-a53", "--cache", tmp_path / "empty"
    )
    assert "--cpu cortex-a53: its code does not run here, and no times were imported for it" in said
    said = error_of("costs", "export", "/dev/full", "--cache", tmp_path / "empty", status=2)
    assert "a device, not a regular file" in said
    said = error_of("costs", "import", file, "--cpu", "cortex-a72", status=2)
    assert "--cpu: the file to import says which processor its times are for" in said
    assert "export" in error_of("costs", "show", file, status=2)


def small_files(limit):
    """Like a full disk: writing fails after some bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def test_a_full_disk_leaves_nothing(model, folder, some_times, tmp_path):
    file, cache = write(tmp_path / "times.json", some_times), tmp_path / "cache"
    call("costs", "import", file, "--cache", cache)
    before = sorted(tmp_path.iterdir())
    limit = (folder / "timer").stat().st_size - 1  # all that is written before it is smaller
    said = error_of(
        *(
            "tune-pack",
            model,
            "-o",
            tmp_path / "pack",
            *BOARD,
            "--threads",
            1,
            "--cache",
            folder.parent / "new",
        ),
        preexec_fn=functools.partial(small_files, limit),
    )
    assert "cannot write" in said and "File too large" in said
    said = error_of(
        *("costs", "export", tmp_path / "again.json", "--cpu", "cortex-a72", "--cache", cache),
        preexec_fn=functools.partial(small_files, 100),
    )
    assert "no times were imported for it (" in said and "name another folder with --cache" in said
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cpu", "native"), "--cpu native: its code runs here, where intarsia compile measures it"),
        (("--cpu", "x86-64-v2"), "--cpu x86-64-v2: its code runs here"),
        ((*BOARD, "--tune", "off"), "--tune off: there would be no kernels to time"),
        (("--arch", "aarch64", "--cpu", "armv8-a,cortex-a76"), "--cpu: kernels are timed on one machine"),
        (("--arch", "aarch64", "--cpu", "cortex-a54"), "--cpu cortex-a54: want armv8-a"),
    ],
)
def test_packs_that_make_no_sense_are_refused(model, tmp_path, options, message):
    said = error_of("tune-pack", model, "-o", tmp_path / "pack", *options, status=2)
    assert message in said and not (tmp_path / "pack").exists()


def test_folders_that_are_not_new_stay_as_they_are(model, folder, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("mine")
    for path in (full, full / "mine"):
        said = error_of("tune-pack", model, "-o", path, *BOARD, status=2)
        assert f"'{path}' exists, and is not an empty folder; name another folder" in said
    assert [path.name for path in full.iterdir()] == ["mine"]
    said = error_of("tune-pack", model, "-o", tmp_path / "none/pack", *BOARD)
    assert f"cannot write '{tmp_path}/none/pack': No such file or directory" in said
    (tmp_path / "empty").mkdir()
    assert pack(model, tmp_path / "empty", 1)["kernels"] > 0 and (tmp_path / "empty/run.sh").exists()
    assert not [path for path in tmp_path.iterdir() if ".new-" in path.name]


def test_a_model_without_choices_has_nothing_to_time(folder, tmp_path):
    save_relu(tmp_path / "relu.onnx")
    said = error_of("tune-pack", tmp_path / "relu.onnx", "-o", tmp_path / "pack", *BOARD, "--threads", 1)
    assert "no kernel has variants to choose from by their times; compile it as it is" in said
    assert not (tmp_path / "pack").exists()


def test_in_python(model, folder, some_times, tmp_path):
    board = {"arch": "aarch64", "cpu": "cortex-a72", "fallback": "none", "threads": 1}
    report = intarsia.tune_pack(model, tmp_path / "pack", **board)
    assert report["kernels"] == len(kernels_of(folder))
    file, cache = write(tmp_path / "times.json", some_times), tmp_path / "cache"
    assert intarsia.import_costs(file, cache=cache)["taken"] == len(some_times["kernels"])
    exported = intarsia.export_costs(tmp_path / "again.json", cpu="cortex-a72", cache=cache)
    assert exported["kernels"] == len(some_times["kernels"])
    assert (
        intarsia.compile(model, cache=cache, dry_run=True, **board).report["tuning"]["imported"] is not None
    )
    with pytest.raises(intarsia.CorruptError, match="it is not JSON"):
        intarsia.import_costs(write(tmp_path / "bad.json", "{"), cache=cache)
    with pytest.raises(intarsia.VersionError, match="measure again"):
        generator = {**some_times["generator"], "version": "20.0.0"}
        intarsia.import_costs(
            write(tmp_path / "bad.json", other(some_times, generator=generator)), cache=cache
        )
