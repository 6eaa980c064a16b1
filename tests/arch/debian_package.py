"""The Debian package of the run half for another architecture: its fields, its files, and programs of users that are built against
it and run a model where nothing else is but the C and C++ runtime.

Covers: cmake/ package.cmake install.cmake intarsia.pc.in
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from cli_models import SOURCE
from processes import run
from programs import ARCH, RUNNER, compare
from small_models import convolutions

BUILD = pathlib.Path(os.environ["INTARSIA_BUILD"])
DEBIAN = {"aarch64": "arm64", "armv7": "armhf", "riscv64": "riscv64"}[ARCH]
EMULATOR = RUNNER[:-1]  # ends with "-L" and the folder of the cross compiler's libraries
LIBRARIES = pathlib.Path(EMULATOR[-1]) / "lib"
RUNTIME = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"}
MOST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}  # of the packages that it depends on


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder, cwd=folder)
    (package,) = folder.glob("*.deb")
    return package


@pytest.fixture(scope="module")
def root(package, tmp_path_factory):
    """A file system with the package and what it depends on."""
    root = tmp_path_factory.mktemp("root")
    run("dpkg-deb", "-x", package, root)
    (root / "lib").mkdir()
    for library in (*RUNTIME, *(path.name for path in LIBRARIES.glob("ld-linux*"))):
        shutil.copy(LIBRARIES / library, root / "lib")
    for folder in ("srv", "tmp"):
        (root / folder).mkdir()
    return root


def test_fields(package):
    field = dict(re.findall(r"^([\w-]+): (.*)$", run("dpkg-deb", "-f", package), re.M))
    assert package.name == f"libintarsia_{field['Version']}_{DEBIAN}.deb"
    assert (
        field["Package"] == "libintarsia" and field["Architecture"] == DEBIAN and field["Section"] == "libs"
    )
    assert field["Depends"] == "libc6 (>= 2.34), libgcc-s1 (>= 3.5), libstdc++6 (>= 12)"
    assert field["Description"] and field["Maintainer"]


def test_it_needs_no_more_than_it_depends_on(root):
    read = run("readelf", "-d", "-V", "-W", root / "usr/lib/libintarsia.so.0")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", read))
    assert {name for name in needed if not name.startswith("ld-linux")} <= RUNTIME
    versions = re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI)_([\d.]+)", read)
    assert versions
    for name, version in versions:
        assert tuple(map(int, version.split("."))) <= MOST[name], f"{name}_{version}"


def test_files(root):
    files = {str(path.relative_to(root / "usr")) for path in (root / "usr").rglob("*") if not path.is_dir()}
    headers = {f"include/intarsia/{path.name}" for path in (SOURCE / "include/intarsia").iterdir()}
    files = {name for name in files - headers if not name.startswith("lib/cmake/Intarsia/")}
    assert files == {
        "lib/libintarsia.so",
        "lib/libintarsia.so.0",
        "lib/pkgconfig/intarsia.pc",
        "share/doc/libintarsia/copyright",
    }
    assert (SOURCE / "LICENSE").read_text() in (root / "usr/share/doc/libintarsia/copyright").read_text()
    assert ".symtab" not in run("readelf", "-S", "-W", root / "usr/lib/libintarsia.so.0")


def flags_of(root):
    return run(
        "pkg-config", "--cflags", "--libs", "intarsia", PKG_CONFIG_PATH=str(root / "usr/lib/pkgconfig")
    ).split()


def test_a_program_in_c(root):
    (root / "srv/main.c").write_text(
        "#include <intarsia/intarsia_pipeline.h>\n#include <stdio.h>\n"
        "int main(void) { return puts(intarsia_version()) < 0; }\n"
    )
    run(os.environ["INTARSIA_CC"], root / "srv/main.c", *flags_of(root), "-o", root / "srv/main")
    assert (
        run(*EMULATOR[:-1], root, root / "srv/main").strip()
        in (root / "usr/lib/pkgconfig/intarsia.pc").read_text()
    )


@pytest.fixture(scope="module")
def caller(root):
    """A program in C++ that runs those of Intarsia."""
    path = root / "srv/run_raw"
    source = SOURCE / "tests/support/run_raw.cc"
    run(os.environ["INTARSIA_CXX"], "-std=c++20", "-I", root / "usr", source, *flags_of(root), "-o", path)
    return path


def test_a_model_runs_in_the_emulator(root, caller, tmp_path):
    convolutions(tmp_path / "model.onnx")
    compare(
        tmp_path / "model.onnx",
        tmp_path,
        run=lambda program, folder: run(*EMULATOR[:-1], root, caller, program, folder),
    )


def enter(root):
    """What runs a command inside the root, or None where that is not permitted."""
    for way in (["chroot", root], ["unshare", "--map-root-user", "--root", root]):
        tried = subprocess.run([*way, "/emulator", "--version"], capture_output=True, timeout=60)
        if tried.returncode == 0:
            return way
    return None


def test_a_model_runs_where_nothing_else_is(root, caller):
    shutil.copy(shutil.which(EMULATOR[0]), root / "emulator")
    inside = enter(root)
    if inside is None:
        pytest.skip("neither chroot nor unshare is permitted here")
    convolutions(root / "srv/model.onnx")
    emulator = ["/emulator", *EMULATOR[1:-2]]
    compare(
        root / "srv/model.onnx",
        root / "srv",
        run=lambda program, folder: run(*inside, *emulator, "/srv/run_raw", f"/srv/{program.name}", "/srv"),
    )
