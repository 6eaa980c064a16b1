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
from PIL import Image
from cli_models import SOURCE, save_small

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
    rest = [line for line in lines if not line.startswith("make ")]
    # What is installed is the test `installed`'s matter; its command is tried with a small model and this build.
    commands = [line for line in rest if not line.startswith("pip install ")]
    assert len(commands) == len(rest) - 1 >= 9
    assert all(line.startswith(("build/bin/intarsia ", "intarsia ")) for line in commands)
    save_small(after_demo / "model.onnx")
    Image.new("RGB", (320, 240), "orange").save(after_demo / "cat.jpg")
    path = f"{after_demo}/build/bin:{os.environ['PATH']}"
    for command in commands:
        run(["sh", "-c", command], after_demo, env={**os.environ, "PATH": path})
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


def test_the_result_at_the_head_is_that_of_the_table():
    """`bench/report.py` writes the table; what the text says of it must follow."""
    head, table = README.split("## What was measured")
    rows = {
        row.split("|")[1].strip(): [cell.strip() for cell in row.split("|")[2:]]
        for row in table.splitlines()
        if row.startswith("| ")
    }
    ours, best = re.search(r"ResNet50 takes ([\d.]+) ms on one thread, and ([\d.]+) ms in", head).groups()
    assert f"{ours} / {best}" in rows["resnet50"]
    one, two = re.search(
        r"we take ([\d.]+) times less on one thread and ([\d.]+) times less on two", head
    ).groups()
    assert [cell for cell in rows["geometric mean"] if cell] == [one, two]
    assert len([row for row in rows.values() if " / " in "".join(row) and "@cpu" in row[1]]) == 9


def test_the_first_lines_say_what_a_newcomer_asks():
    first = "\n".join(README.splitlines()[:30])
    assert not [
        word
        for word in ("For whom", "Linux on x86-64", "How long", "pip install", "A result")
        if word not in first
    ]


def test_links_lead_to_files():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert len(links) > 10 and not [link for link in links if not pathlib.Path(SOURCE / link).exists()]
