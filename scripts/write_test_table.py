#!/usr/bin/env python3
"""Writes tests/README.md: which test covers which source file. `--check` changes nothing and fails if it would.

The head of every test, its first comment or docstring, says what the test is about, then what it covers:

    Covers: src/plan/ place_nodes.cc partition_graph.cc backends/null/ load.cc

A word that ends in a slash is the folder of the words after it. Every C++ source file must be named by a test. Only
a third-party suite of cases (tests/conformance) may name many at once, by a pattern such as `op_table_*.cc`."""

import argparse
import ast
import collections
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ("src", "backends", "registry", "cli", "bindings")
TABLE = ROOT / "tests/README.md"
HEAD = """# Which test covers what

`scripts/write_test_table.py` writes this page from the heads of the tests; the test `test_table` fails until this is done.
A source file that no test names fails it, too. Tests lie in the folder of what they test: `tests/<layer>/`,
`tests/backends/<name>/`, `tests/cli/` (the command line), `tests/python/` (the package), `tests/project/` (this repository),
`tests/conformance/` (third-party cases and real models), `tests/fuzz/`. Shared code is in `tests/support/`, the golden texts
of the passes are in `tests/cases/`.
"""


def is_test(path):
    """Otherwise it is a part of several tests, or makes their inputs."""
    start = {"conformance": "test_", "fuzz": "fuzz_"}.get(path.parts[1], "")
    return path.parts[1] != "support" and path.name.startswith(start)


def head_of(path):
    text = (ROOT / path).read_text()
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text)) or ""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return "\n".join(lines)


def expand(word):
    """The paths that a word stands for."""
    return sorted(path.relative_to(ROOT) for path in ROOT.glob(word)) if "*" in word else [pathlib.Path(word)]


def read_test(path, faults):
    """(what the test is about, what it covers)"""
    about, found, listed = head_of(path).partition("Covers:")
    if not found:
        faults.append(f"{path}: its head does not say what it covers")
    folder, covered = "", []
    for word in listed.split():
        if word.endswith("/"):
            folder = word
            continue
        if "*" in word and path.parts[1] != "conformance":
            faults.append(f"{path}: covers '{word}': name the files")
        paths = [one for one in expand(folder + word) if (ROOT / one).is_file()]
        if not paths:
            faults.append(f"{path}: covers '{folder}{word}', which does not exist")
        covered += paths
    return " ".join(about.split("\n\n")[0].split()), covered


def describe(covered):
    """Names by folder, in one cell of a table."""
    folders = collections.defaultdict(list)
    for path in covered:
        folders[path.parent.as_posix()].append(path.name)
    parts = []
    for folder, names in sorted(folders.items()):
        everything = sorted(path.name for path in (ROOT / folder).glob("*.cc"))
        whole = len(everything) > 6 and set(everything) <= set(names)
        parts.append(
            f"`{folder}/*.cc`"
            if whole
            else f"{folder}: " + ", ".join(f"`{name}`" for name in sorted(set(names)))
        )
    return "; ".join(parts).replace("`.: ", "`")


def write_table(tests):
    text, folder = HEAD, None
    for path, (about, covered) in tests.items():
        if path.parent != folder:
            folder = path.parent
            text += f"\n## {folder.as_posix()}\n\n| test | what it shows | covers |\n|---|---|---|\n"
        text += f"| `{path.name}` | {about.replace('|', chr(92) + '|')} | {describe(covered)} |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something is wrong")
    check = parser.parse_args().check
    faults = []
    files = [path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*") if path.suffix in (".cc", ".py")]
    tests = {
        path: read_test(path, faults)
        for path in sorted(files, key=lambda p: (p.parent, p.name))
        if is_test(path)
    }
    named = {path for _, covered in tests.values() for path in covered}
    sources = [path.relative_to(ROOT) for folder in SOURCES for path in (ROOT / folder).rglob("*.cc")]
    faults += [f"{path}: no test names it" for path in sorted(sources) if path not in named]
    text = write_table(tests)
    if check and (not TABLE.exists() or TABLE.read_text() != text):
        faults.append(f"{TABLE.relative_to(ROOT)} is not up to date: run scripts/write_test_table.py")
    if faults:
        sys.exit("\n".join(faults))
    if check:
        print(f"{len(tests)} tests cover {len(sources)} source files")
    else:
        TABLE.write_text(text)


if __name__ == "__main__":
    main()
