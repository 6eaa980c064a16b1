"""Completion in shells, as they do it, and the manual pages.

Covers: cli/commands/ shell.cc
cli/usage/ completion.cc command_table.cc manual.cc
"""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest
from cli_models import call, error_of

COMMANDS = [
    *("compile", "run", "check", "bench", "explain", "split", "rewrite", "tune-pack", "costs", "devices"),
    "completion",
]


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"no {program}")


def complete_in_bash(script, *words):
    """What bash would offer for the last word, which it breaks at equals signs."""
    done = subprocess.run(
        [
            "bash",
            "-c",
            f'source {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _intarsia; echo "${{COMPREPLY[@]}}"',
            "bash",
            *words,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@needs("bash")
def test_bash(tmp_path):
    script = tmp_path / "intarsia"
    script.write_text(call("completion", "bash").stdout)
    for words, wanted in (
        (["intarsia", ""], [*COMMANDS, "--help", "--version"]),
        (["intarsia", "co"], ["compile", "costs", "completion"]),
        (["intarsia", "costs", ""], ["export", "import"]),
        (["intarsia", "compile", "--tun"], ["--tune", "--tune-seconds", "--tune-at"]),
        (["intarsia", "compile", "net.onnx", "--math", ""], ["exact", "fast"]),
        (["intarsia", "compile", "net.onnx", "--math", "=", "e"], ["exact"]),
        (["intarsia", "compile", "net.onnx", "--math", "="], ["exact", "fast"]),
        (["intarsia", "bench", "net.onnx", "--mode", "t"], ["throughput"]),
        (["intarsia", "check", "net.onnx", "--bis"], ["--bisect"]),
        (["intarsia", "run", "net.onnx", "--bis"], []),
        (["intarsia", "compile", "net.onnx", "--threads", ""], []),
        (["intarsia", "compile", "ne"], []),  # files, which bash adds
        (["intarsia", "completion", ""], ["bash", "fish", "zsh"]),
    ):
        assert complete_in_bash(script, *words) == wanted, words
    assert call("completion", "bash").stdout.endswith("complete -o default -F _intarsia intarsia\n")


@needs("fish")
def test_fish(tmp_path):
    script = tmp_path / "intarsia.fish"
    script.write_text(call("completion", "fish").stdout)
    (tmp_path / "net.onnx").write_text("")

    def offered(line):
        code = f"source {script}; complete -C '{line}'"
        environment = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
        done = subprocess.run(
            ["fish", "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert sorted(offered("intarsia ")) == sorted(COMMANDS)
    assert sorted(offered("intarsia compile --tun")) == ["--tune", "--tune-at", "--tune-seconds"]
    assert offered("intarsia compile net.onnx --math ") == ["exact", "fast"]
    assert "net.onnx" in offered("intarsia compile n") and "net.onnx" in offered("intarsia run -i n")
    assert offered("intarsia compile --threads n") == []


@needs("zsh")
def test_zsh(tmp_path):
    (tmp_path / "_intarsia").write_text(call("completion", "zsh").stdout)
    ours, theirs = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb", "PS1": "> "}
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=tmp_path
    )
    os.close(theirs)

    def type_and_see(text, wanted):
        os.write(ours, text.encode())
        shown, end = "", time.monotonic() + 20
        while wanted not in shown and time.monotonic() < end:
            if select.select([ours], [], [], 0.2)[0]:
                shown += os.read(ours, 4096).decode(errors="replace")
        assert wanted in shown, shown

    try:
        setup = f"fpath=({tmp_path} $fpath); autoload -U compinit; compinit -u -D; echo re''ady\n"
        type_and_see(setup, "ready")
        type_and_see("intarsia comp\t", "completion")
        type_and_see("\x15intarsia compile --strip\t", "--strip-names")
        type_and_see("\x15intarsia compile --math e\t", "--math exact")
        type_and_see("\x15intarsia devices --js\t", "--json")
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)


@needs("man")
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_manual(tmp_path, command):
    page = tmp_path / f"intarsia{command and '-'}{command}.1"
    page.write_text(call("manual", *filter(None, [command])).stdout)
    environment = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MANROFFSEQ": ""}
    done = subprocess.run(
        ["man", "--warnings", "-l", page], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == "" and "NAME\n" in done.stdout
    shown = re.sub(
        r"-\n\s+|\s+",
        lambda found: "-" if found[0][0] == "-" else " ",
        re.sub(".\b|\u2010\n\\s+", "", done.stdout),
    )
    names = re.findall(
        r"^  (?:-\w,)?(--[\w-]+)", call(*filter(None, [command]), "--help").stdout, re.MULTILINE
    )
    assert [name for name in names if command and name not in shown] == []
    assert command or all(f"intarsia-{name}(1)" in shown for name in COMMANDS)


def test_wrong():
    assert "csh" in error_of("completion", "csh", status=2)
    assert "manual nothing: no such command" in error_of("manual", "nothing", status=2)
    assert "manual" not in call("--help").stdout
