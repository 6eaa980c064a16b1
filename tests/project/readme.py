"""Every command of README.md runs where it says: after `make demo`.

Covers: README.md scripts/demo.sh scripts/demo_models.sh
"""

import itertools
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from cli_models import SOURCE

README = (SOURCE / "README.md").read_text()
BUILD = SOURCE / "build"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def run(command, folder, **options):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def models_of_the_demo():
    """Files that scripts/demo_models.sh makes, from the models that it names."""
    demo = (SOURCE / "scripts/demo_models.sh").read_text()
    for script, folder in (
        ("make_models.py --only", "models"),
        ("make_tensorflow_models.py", "models/tensorflow"),
    ):
        for names in re.findall(rf"{script} ([\w ]+)$", demo, re.M):
            for name in names.split():
                yield from (path.relative_to(BUILD) for path in (BUILD / folder).glob(f"{name}*"))


@pytest.fixture(scope="module")
def after_demo(tmp_path_factory):
    """A tree in which the demo ran. Models that it makes are already here, so that it finds them up to date, and no others."""
    tree = tmp_path_factory.mktemp("tree")
    (tree / "build/models/tensorflow").mkdir(parents=True)
    for path in ("build/bin", "build/venv", "tests", "README.md", "Makefile"):
        os.symlink(SOURCE / path, tree / path)
    shutil.copytree(SOURCE / "scripts", tree / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for path in models_of_the_demo():
        copy = shutil.copytree if (BUILD / path).is_dir() else shutil.copy
        copy(BUILD / path, tree / "build" / path)
    run(["scripts/demo_models.sh"], tree)
    run(["scripts/demo.sh"], tree)
    assert (tree / "build/demo/resnet50.png").exists()
    return tree


def test_commands(after_demo):
    """Two commands start it all, once each in the order of reading; the others work in a tree where the demo ran."""
    lines = [line for block in blocks("sh") for line in block.splitlines() if line]
    targets = [line.split()[1] for line in lines if line.startswith("make ")]
    assert set(targets) == {"demo", "test"}
    run(["make", "-n", *targets], after_demo)
    commands = [line for line in lines if not line.startswith("make ")]
    assert len(commands) >= 6 and all(line.startswith("build/bin/intarsia ") for line in commands)
    for command in commands:
        run(["sh", "-c", command], after_demo)
    assert (
        (after_demo / "results").is_dir()
        and (after_demo / "detector.so").exists()
        and (after_demo / "resnet50.html").exists()
    )


def test_the_demo_has_a_stage_on_the_second_device(after_demo):
    """Regions before it and after it, which may be several, are on the processor."""
    page = (after_demo / "build/demo/resnet50.txt").read_text()
    slots = re.findall(r"^  \d+ \w+@(\w+): \d+ nodes", page, re.M)
    assert [slot for slot, _ in itertools.groupby(slots)] == ["cpu", "accel", "cpu"], page


def test_python(after_demo):
    (script,) = blocks("python")
    assert run(["build/venv/bin/python", "-c", script + "print(scores.shape)"], after_demo) == "(1, 1000)\n"


def test_links_lead_to_files():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert len(links) > 10 and not [link for link in links if not pathlib.Path(SOURCE / link).exists()]
