"""What pages in docs/ tell a reader to type works, and what they quote is what the program says.

Blocks of a page are tried in their order, in one folder. `sh`: every command succeeds. `console`: lines after `$ ` are commands,
the others their output, in which `...` stands for any text or lines; where lines break does not count. `python`, `cpp`: a file if the first line
is a comment with its name, else a program that succeeds. A comment before a block, `<!-- not tried: why -->`, leaves it
out, `<!-- needs PACKAGE -->` does so where Python lacks the package: what it would make is then made here.

Covers: docs/ deploying.md environment_variables.md from_keras.md from_pytorch.md precision.md troubleshooting.md
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest
from cli_models import INTARSIA, SOURCE, without_progress
from pages_files import FILES

BLOCK = re.compile(r"(?:^<!-- (?P<note>[^>]*) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
FILE = re.compile(r"(?:#|//) ([\w.]+)\n")


def blocks(page):
    """(language, text) of those that can be tried here."""
    for block in BLOCK.finditer((SOURCE / "docs" / page).read_text()):
        note = block["note"] or ""
        needed = re.match(r"needs (\w+)", note)
        if note.startswith("not tried: ") or (needed and importlib.util.find_spec(needed[1]) is None):
            continue
        yield block["language"], block["text"]


def shell(command, folder):
    """Runs a command in the environment that a page assumes: `intarsia` and `python` are found, times are not kept."""
    tools = folder / ".tools"
    if not tools.exists():
        tools.mkdir()
        (tools / "intarsia").symlink_to(pathlib.Path(INTARSIA).resolve())
        (tools / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (tools / "python").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(folder / ".cache"),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    return subprocess.run(
        ["sh", "-euc", command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )


def succeed(command, folder):
    done = shell(command, folder)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def pattern(quoted):
    """A regular expression for output as a page quotes it, however either breaks its lines."""
    return ".*".join(
        r"\s+".join(map(re.escape, part.split())) for part in re.split(r"\s*\.\.\.\s*", quoted.strip())
    )


def compare_console(text, folder):
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, quoted = part.partition("\n")
        done = shell(command, folder)
        shown = without_progress(done.stdout + done.stderr)
        if quoted:
            assert re.fullmatch(pattern(quoted), shown.strip(), re.S), f"{command}\n{shown}\nwant\n{quoted}"
        assert (done.returncode == 0) == ("error: " not in quoted), f"{command}\n{shown}"


def try_block(language, text, folder):
    named = FILE.match(text)
    if language == "console":
        compare_console(text, folder)
    elif named:
        (folder / named[1]).write_text(text)
    elif language == "sh":
        succeed(text, folder)
    elif language == "python":
        (folder / "block.py").write_text(text)
        succeed("python block.py", folder)


@pytest.mark.parametrize("page", FILES)
def test_page(page, tmp_path):
    FILES[page](tmp_path)
    found = list(blocks(page))
    assert found
    for language, text in found:
        try_block(language, text, tmp_path)


def test_every_page_is_linked_from_the_readme():
    """And what pages link to is there."""
    readme = (SOURCE / "README.md").read_text()
    for page in sorted((SOURCE / "docs").glob("*.md")):
        assert f"docs/{page.name}" in readme, page
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert "://" in link or (page.parent / link).exists(), f"{page}: {link}"
