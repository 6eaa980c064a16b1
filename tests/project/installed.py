"""What is installed runs from anywhere, without the tree that it was built in: by `cmake --install`, as a wheel, and as a wheel for
other machines.

Covers: pyproject.toml cmake/ install.cmake command_files.cmake intarsia.pc.in intarsia-compile.pc.in
bindings/python/intarsia/ __main__.py
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import pytest
from cli_models import SOURCE, save_small
from processes import run

BUILD = pathlib.Path(os.environ.get("INTARSIA_BUILD", SOURCE / "build/release"))
PACKAGES = pathlib.Path(sysconfig.get_path("purelib"))


def run_installed(*command, cwd):
    """Runs a command and returns the libraries that its processes loaded, none of them from the build tree."""
    log = cwd / "libraries"
    log.mkdir(exist_ok=True)
    run(*command, cwd=cwd, LD_DEBUG="files", LD_DEBUG_OUTPUT=str(log / "of"))
    libraries = {
        os.path.normpath(path)
        for file in log.iterdir()
        for path in re.findall(r"calling init: (\S+)", file.read_text())
    }
    shutil.rmtree(log)
    assert not [path for path in libraries if pathlib.Path(path).resolve().is_relative_to(BUILD)]
    return libraries


def compile_run_check(command, cwd):
    save_small(cwd / "small.onnx")
    libraries = run_installed(*command, "compile", "small.onnx", "-o", "small.so", cwd=cwd)
    run_installed(*command, "run", "small.so", "-o", "results", cwd=cwd)
    run_installed(*command, "check", "small.so", "--against", "reference", cwd=cwd)
    assert (cwd / "results/y.npy").exists()
    return libraries


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", BUILD, "--prefix", prefix, cwd=prefix)
    return prefix


def test_command(prefix, tmp_path):
    libraries = compile_run_check([prefix / "bin/intarsia"], tmp_path)
    names = {pathlib.Path(path).name for path in libraries if pathlib.Path(path).is_relative_to(prefix)}
    assert {"libintarsia.so.0", "libintarsia_compile.so", "libHalide.so"} <= names
    moved = tmp_path / "moved"
    prefix.rename(moved)
    run_installed(moved / "bin/intarsia", "compile", "small.onnx", "-o", "again.so", cwd=tmp_path)
    moved.rename(prefix)


def test_cpp_project(prefix, tmp_path):
    """examples/02_from_cpp, with a program compiled by the installed command."""
    run(sys.executable, SOURCE / "examples/01_compile_and_run/make_model.py", "model.onnx", cwd=tmp_path)
    run_installed(
        prefix / "bin/intarsia",
        "compile",
        "model.onnx",
        "-o",
        "model.so",
        "--shape",
        "image=2x3x32x32",
        cwd=tmp_path,
    )
    run(
        "cmake",
        "-S",
        SOURCE / "examples/02_from_cpp",
        "-B",
        "build",
        f"-DCMAKE_PREFIX_PATH={prefix}",
        cwd=tmp_path,
    )
    run("cmake", "--build", "build", cwd=tmp_path)
    libraries = run_installed("build/classify", "model.so", cwd=tmp_path)
    assert str(prefix / "lib/libintarsia.so.0") in libraries


def test_libraries_of_the_users_python(prefix, tmp_path):
    """The active environment, or that of the python3 in PATH; neither is around the command."""
    save_small(tmp_path / "small.onnx")
    packages = tmp_path / "venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (tmp_path / "venv/bin").mkdir()
    (tmp_path / "venv/bin/python3").symlink_to(sys.executable)
    (tmp_path / "venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    for package in ("onnxruntime", "openvino", "tensorflow"):
        (packages / package).symlink_to(PACKAGES / package)
    system = "/usr/sbin:/usr/bin:/sbin:/bin"
    wanted = {"onnxruntime", "openvino", "tensorflow"}
    for environment in (
        {"VIRTUAL_ENV": str(tmp_path / "venv"), "PATH": system},
        {"VIRTUAL_ENV": "", "PATH": f"{tmp_path}/venv/bin:{system}"},
    ):
        report = json.loads(run(prefix / "bin/intarsia", "devices", "--json", cwd=tmp_path, **environment))
        found = {backend["name"] for backend in report["backends"] if backend["present"]}
        assert wanted <= found, report
    report = json.loads(
        run(prefix / "bin/intarsia", "devices", "--json", cwd=tmp_path, VIRTUAL_ENV="", PATH=system)
    )
    assert not wanted & {backend["name"] for backend in report["backends"] if backend["present"]}
    check = ("check", "small.onnx", "--against", "onnxruntime", "--backends", "reference")
    run(prefix / "bin/intarsia", *check, cwd=tmp_path, VIRTUAL_ENV=str(tmp_path / "venv"), PATH=system)


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="no pkg-config")
def test_c_program_by_pkg_config(prefix, tmp_path):
    """Also where the folder was moved to."""
    (tmp_path / "main.c").write_text(
        "#include <intarsia/intarsia_compile.h>\n#include <stdio.h>\n"
        "int main(void) { char* passes; return intarsia_pass_names(&passes) != 0 || puts(intarsia_version()) < 0; }\n"
    )
    moved = tmp_path / "moved"
    shutil.copytree(prefix, moved, symlinks=True)
    for folder in (prefix, moved):
        (found,) = folder.rglob("intarsia.pc")
        search = {"PKG_CONFIG_PATH": str(found.parent)}
        flags = run(
            "pkg-config", "--cflags", "--libs", "intarsia", "intarsia-compile", cwd=tmp_path, **search
        ).split()
        run("cc", "main.c", *flags, f"-Wl,-rpath,{found.parent.parent}", "-o", "main", cwd=tmp_path)
        version = run("pkg-config", "--modversion", "intarsia", cwd=tmp_path, **search)
        assert run("./main", cwd=tmp_path) == version


def test_files_for_the_shell(prefix):
    share = prefix / "share"
    assert "_intarsia" in (share / "bash-completion/completions/intarsia").read_text()
    assert "#compdef" in (share / "zsh/site-functions/_intarsia").read_text()
    assert "complete -c" in (share / "fish/vendor_completions.d/intarsia.fish").read_text()
    pages = {page.name for page in (share / "man/man1").iterdir()}
    shown = re.search(
        r"^Commands:\n(.*?)\n\n", run(prefix / "bin/intarsia", "--help", cwd=prefix), re.M | re.S
    )[1]
    commands = re.findall(r"^  ([\w-]+)", shown, re.MULTILINE)
    assert pages == {"intarsia.1", *(f"intarsia-{command}.1" for command in commands)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """As from `pip wheel .`, except for compiling: what it would build is taken from the build tree."""
    folder = tmp_path_factory.mktemp("wheel")
    settings = {
        "build-dir": folder / "build",
        "cmake.source-dir": SOURCE / "tests/project/wheel",
        "build.targets": "all",
        "cmake.define.INTARSIA_BUILD": BUILD,
    }
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        "-w",
        folder,
        *(part for key, value in settings.items() for part in ("-C", f"{key}={value}")),
        SOURCE,
        cwd=folder,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def wanted_packages(wheel):
    """Folders of the packages that the wheel's metadata requires."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
    packages = re.findall(r"^Requires-Dist: (\w+)[^;\n]*$", metadata, re.M)
    assert sorted(packages) == ["halide", "numpy", "tqdm"]
    return [path for package in packages for path in PACKAGES.glob(f"{package}*") if path.is_dir()]


def test_wheel_has_types(wheel):
    with zipfile.ZipFile(wheel) as archive:
        assert {"intarsia/py.typed", "intarsia/_intarsia.pyi"} <= set(archive.namelist())


def install(wheel, tmp_path):
    """Installs the wheel in an environment that has only the packages that it requires, as links to those of this
    one. Returns its Python and the folder of its packages."""
    python = tmp_path / "venv/bin/python"
    run(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=tmp_path)
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        wheel,
        cwd=tmp_path,
    )
    packages = pathlib.Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    )
    for package in wanted_packages(wheel):
        (packages / package.name).symlink_to(package)
    return python, packages


def test_wheel(wheel, tmp_path):
    python, packages = install(wheel, tmp_path)
    libraries = compile_run_check([tmp_path / "venv/bin/intarsia"], tmp_path)
    assert {
        str(packages / "intarsia" / name) for name in ("libintarsia.so.0", "libintarsia_compile.so")
    } <= libraries
    assert "libHalide.so" in {pathlib.Path(path).name for path in libraries}
    compile_run_check([python, "-m", "intarsia"], tmp_path)
    script = "import intarsia, numpy; print(intarsia.compile('small.onnx').load()(x=numpy.ones((2, 3, 8, 8), 'float32')).shape)"
    run_installed(python, "-c", script, cwd=tmp_path)


def test_importing_tensorflow_finds_the_op_of_the_wheel(wheel, tmp_path):
    """The op opens the libintarsia of its wheel."""
    python, packages = install(wheel, tmp_path)
    for entry in PACKAGES.iterdir():
        if (
            entry.name != "tensorflow-plugins"
            and entry.suffix != ".pth"
            and not (packages / entry.name).exists()
        ):
            (packages / entry.name).symlink_to(entry)
    save_small(tmp_path / "small.onnx")
    run(tmp_path / "venv/bin/intarsia", "compile", "small.onnx", "-o", "small.so", cwd=tmp_path)
    script = """
import tensorflow as tf
from tensorflow.python.framework import op_def_library
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    y = op_def_library.apply_op("Intarsia", artifact="small.so", inputs=[tf.ones([2, 3, 8, 8])], Tout=[tf.float32],
                                function="", threads=0, bindings=[])
    print(session.run(y)[0].shape)
"""
    libraries = run_installed(python, "-c", script, cwd=tmp_path)
    assert str(packages / "intarsia/libintarsia.so.0") in libraries
    assert str(packages / "tensorflow-plugins/libintarsia_tensorflow.so") in libraries


MOST_GLIBC = (2, 36)  # Debian 12's
# What opens it, or is installed beside it, has these; others are opened by name where a model needs them.
FROM_ELSEWHERE = {"libHalide.so", "libtensorflow_framework.so.2"}


@pytest.fixture(scope="module")
def repaired(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("repaired")
    run(SOURCE / "scripts/repair_wheel.sh", wheel, folder, cwd=folder)
    (repaired,) = folder.glob("*.whl")
    return repaired


def test_a_repaired_wheel_is_for_glibc_of_debian(repaired):
    platform = re.search(r"manylinux_(\d+)_(\d+)_x86_64\.whl$", repaired.name)
    assert platform and tuple(map(int, platform.groups())) <= MOST_GLIBC, repaired.name


def needed_names(file):
    read = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", read))


def test_a_repaired_wheel_needs_only_the_runtime(repaired, tmp_path):
    """Each library of the wheel needs others of it, the C and C++ runtime, and those of FROM_ELSEWHERE."""
    with zipfile.ZipFile(repaired) as archive:
        archive.extractall(tmp_path)
    code = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    needed = set().union(*map(needed_names, code)) - {path.name for path in code}
    assert FROM_ELSEWHERE <= needed
    runtime = r"(libc|libm|libdl|libpthread|libgcc_s|libstdc\+\+|ld-linux-x86-64)\.so\.\d+"
    assert not [name for name in needed - FROM_ELSEWHERE if not re.fullmatch(runtime, name)]


def test_a_repaired_wheel_runs(repaired, tmp_path):
    python, packages = install(repaired, tmp_path)
    libraries = compile_run_check([python, "-m", "intarsia"], tmp_path)
    assert [path for path in libraries if path.startswith(f"{packages}/intarsia.libs/libsqlite3")]
    assert str(packages / "intarsia/libintarsia.so.0") in libraries
