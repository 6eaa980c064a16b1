"""Commands that are run, processes that they start, and how long to wait for them."""

import os
import pathlib
import subprocess
import time


def run(*command, cwd=None, **environment):
    """Runs a command that succeeds, with more variables in its environment. Returns what it prints."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def workers_of(process, program):
    """Worker processes that run the program and that a process has started."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            executable = os.readlink(folder / "exe")  # of a process that has ended, there is none
            parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if pathlib.Path(executable).name == program and int(parent) == process:
            found.append(int(folder.name))
    return found


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.01)


def is_gone(process):
    return not pathlib.Path(f"/proc/{process}").exists()
