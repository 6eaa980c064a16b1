#!/usr/bin/env python3
"""Writes docs/reference/: the C and C++ headers and the Python package as pages, from their declarations, comments and docstrings.
`--check` changes nothing and fails if it would."""

import argparse
import pathlib
import re
import sys

import reference_c
import reference_cpp
import reference_python

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/reference"
INCLUDE = ROOT / "include/intarsia"
NOTE = "Written by `scripts/write_api_reference.py` from the source; do not edit.\n\n"


def write_headers(title, writer, headers):
    """One page of several headers, or of one. What they export is checked to be on it."""
    page = f"# {title}\n\n{NOTE}" + "".join(
        (f"# {header}\n\n" if len(headers) > 1 else "") + writer.write_header(INCLUDE / header)
        for header in headers
    )
    text = "".join((INCLUDE / header).read_text() for header in headers)
    names = re.findall(r"^INTARSIA_EXPORT [^;]*?(\w+)\(|^(?:class|struct) (\w+)[^;]*?\{", text, re.M)
    hidden = re.findall(r"namespace detail \{.*?^\}  // namespace detail", text, re.M | re.S)
    missing = [
        name
        for pair in names
        for name in pair
        if name and f"`{name}`" not in page and name not in "".join(hidden)
    ]
    if missing:
        sys.exit(f"the page {title} lacks {missing}")
    return page


def write_pages():
    run_and_compile = ("intarsia", "intarsia_compile", "intarsia_pipeline")
    return {
        "c.md": write_headers("C", reference_c, [f"{name}.h" for name in run_and_compile]),
        "cpp.md": write_headers(
            "C++: public members", reference_cpp, [f"{name}.hpp" for name in run_and_compile]
        ),
        "kernel.md": write_headers("Kernels of your own", reference_c, ["kernel.h"]),
        "plugin.md": write_headers("Devices of your own", reference_c, ["plugin.h"]),
        "python.md": f"# Python\n\n{NOTE}"
        + reference_python.write_package(ROOT / "bindings/python/intarsia"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if a page is not up to date"
    )
    check = parser.parse_args().check
    pages = {name: text.rstrip() + "\n" for name, text in write_pages().items()}
    stale = [
        name
        for name, text in pages.items()
        if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text
    ]
    stale += [path.name for path in FOLDER.glob("*") if path.name not in pages]
    if check and stale:
        sys.exit(f"docs/reference/{', '.join(stale)}: not up to date: run scripts/write_api_reference.py")
    if check:
        print(f"{len(pages)} pages are up to date")
        return
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
