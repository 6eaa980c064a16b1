"""The install component for machines that only run programs: these files are all that a program needs, and more than they can do
is an error that names what is missing. Where permitted, in a file system that holds nothing else.

Covers: cmake/ install.cmake
"""

import os
import pathlib
import shutil
import subprocess

import numpy as np
import onnxruntime
import pytest
from cli_models import SOURCE, call, save_small
from pages_files import save_quick_gelu

BUILD = pathlib.Path(os.environ.get("INTARSIA_BUILD", SOURCE / "build/release"))
RUNTIME = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"}
NOTHING = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}  # of the environment


def run(*command, status=0, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def needed_libraries(command):
    """Paths of the libraries that the loader opens for a command, the loader among them."""
    words = run("ldd", command).stdout.split()
    return [pathlib.Path(word) for word in words if word.startswith("/")]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("run")
    run("cmake", "--install", BUILD, "--component", "run", "--prefix", prefix)
    return prefix


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program of generated code, its input, and what it computes here."""
    folder = tmp_path_factory.mktemp("program")
    np.save(folder / "x.npy", np.random.default_rng(3).random((2, 3, 8, 8), np.float32))
    call("compile", save_small(folder / "small.onnx"), "-o", folder / "small.so", "--fallback", "none")
    call("run", folder / "small.so", "-i", f"x={folder}/x.npy", "-o", folder)
    return folder


def test_files(prefix):
    """The command and the library, and of other libraries only the C and C++ runtime."""
    files = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir())
    assert files == ["bin/intarsia", "lib/libintarsia.so.0"]
    others = [path for path in needed_libraries(prefix / "bin/intarsia") if not path.is_relative_to(prefix)]
    assert RUNTIME == {path.name for path in others if not path.name.startswith("ld-linux")}


def test_compiling_is_an_error_that_says_what_is_missing(prefix, program, tmp_path):
    done = run(prefix / "bin/intarsia", "compile", program / "small.onnx", status=1, cwd=tmp_path)
    assert done.stderr.startswith("error: compiling needs libintarsia_compile.so, which cannot be opened")
    assert done.stderr.endswith("; programs run without it\n") and not list(tmp_path.iterdir())


def test_the_compile_half_of_another_release_is_an_error(prefix, program, tmp_path):
    shutil.copytree(prefix, tmp_path / "usr")
    other = (
        (BUILD / "lib/libintarsia_compile.so")
        .read_bytes()
        .replace(b"INTARSIA_PRIVATE_0", b"INTARSIA_PRIVATE_9")
    )
    (tmp_path / "usr/lib/libintarsia_compile.so").write_bytes(other)
    done = run(tmp_path / "usr/bin/intarsia", "compile", program / "small.onnx", status=1, cwd=tmp_path)
    assert done.stderr.startswith(
        "error: libintarsia_compile.so and libintarsia.so are of different releases"
    )
    assert done.stderr.endswith("install both libraries of one release\n")


def copy_with_libraries(file, root, place):
    """Into a root: a file, and the libraries that it needs, where the loader finds them."""
    shutil.copytree(file, root / place) if file.is_dir() else shutil.copy(file, root / place)
    for path in needed_libraries(file / "bin/intarsia" if file.is_dir() else file):
        target = root / path.relative_to("/")
        if not path.is_relative_to(file) and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


def make_root(root, prefix, *files):
    """A file system with what is installed, the libraries that it needs and these files; no /proc and no /dev."""
    copy_with_libraries(prefix, root, "usr")
    (root / "srv").mkdir()
    for file in files:
        shutil.copy(file, root / "srv" / file.name)
    inside = enter(root)
    if inside is None:
        pytest.skip("neither chroot nor unshare is permitted here")
    return inside


def enter(root):
    """What runs a command inside a root, or None where that is not permitted."""
    for way in (["chroot", root], ["unshare", "--map-root-user", "--root", root]):
        tried = subprocess.run(
            [*way, "/usr/bin/intarsia", "--version"], capture_output=True, timeout=60, env=NOTHING
        )
        if tried.returncode == 0:
            return way
    return None


def test_runs_with_nothing_else(prefix, program, tmp_path):
    inside = make_root(tmp_path, prefix, program / "small.so", program / "x.npy")
    command = [
        *inside,
        "/usr/bin/intarsia",
        "run",
        "/srv/small.so",
        "-i",
        "x=/srv/x.npy",
        "-o",
        "/srv/results",
    ]
    refused = run(*command, status=1, env=NOTHING)  # code is loaded through /proc, else from a temporary file
    assert refused.stderr.endswith("set TMPDIR to a folder that can be written\n")
    (tmp_path / "tmp").mkdir()
    run(*command, env=NOTHING)
    np.testing.assert_array_equal(np.load(tmp_path / "srv/results/y.npy"), np.load(program / "y.npy"))


def test_a_framework_is_one_library_that_a_variable_names(prefix, tmp_path):
    program = tmp_path / "gelu.so"
    save_quick_gelu(tmp_path / "gelu.onnx")
    call("compile", tmp_path / "gelu.onnx", "-o", program)
    root = tmp_path / "root"
    (root / "tmp").mkdir(parents=True)
    command = [*make_root(root, prefix, program), "/usr/bin/intarsia", "run", "/srv/gelu.so", "-o", "/srv"]
    refused = run(*command, status=1, env=NOTHING)
    assert "ONNX Runtime not found" in refused.stderr and "set INTARSIA_ONNXRUNTIME to" in refused.stderr
    [library] = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.*")
    (root / "frameworks").mkdir()
    copy_with_libraries(library, root, f"frameworks/{library.name}")
    run(*command, env={**NOTHING, "INTARSIA_ONNXRUNTIME": "/frameworks"})
    assert np.load(root / "srv/y.npy").shape == (2, 3)
