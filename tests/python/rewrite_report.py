"""The report of `intarsia rewrite`, as a page and as JSON: both tell the same, the page escapes names and works on a phone.

Covers: src/report/ html_page.cc rewrite_html.cc
src/rewrite/ describe_rewrite.cc model_files.cc
"""

import json
import os
import re

import intarsia
import numpy as np
import pytest
import rewrite_models
from cli_models import call, error_of
from html_pages import Page, needs_browser, use_in_browser
from rewrite_models import Dense, spec
from rewritten_models import FAST

import tensorflow as tf

SCRIPT = "<script>alert(1)</script>"


class Reported(tf.Module):
    """One signature of each kind: faster, not timed, and as before; their names are markup."""

    def __init__(self):
        setattr(self, SCRIPT, Dense(64, 256, 256, 256, 8))
        self.net, self.words = getattr(self, SCRIPT), tf.Variable(rewrite_models.weight(100, 64))

    @tf.function(input_signature=[spec(64, name="x")])
    def numbers(self, x):
        return {"y": self.net(x)}

    @tf.function(input_signature=[spec(dtype=tf.string, name="text")])
    def texts(self, text):
        return {"y": self.net(tf.gather(self.words, tf.strings.to_hash_bucket_fast(text, 100)))}

    @tf.function(input_signature=[spec(dtype=tf.string, name="text")])
    def upper(self, text):
        return {"upper": tf.strings.upper(text)}


def save_copied(path):
    """A model of which nothing is faster."""
    module = tf.Module()
    module.upper = tf.function(
        lambda text: {"upper": tf.strings.upper(text)}, input_signature=[spec(dtype=tf.string, name="text")]
    )
    tf.saved_model.save(module, str(path), {"serving_default": module.upper})
    return path


def rewrite(model, output, page, *options):
    """(report, text of the page)"""
    done = call("rewrite", model, output, "--html", page, "--json", *options)
    return json.loads(done.stdout), page.read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With a model, a rewritten one, and the report in both forms."""
    folder = tmp_path_factory.mktemp("reported")
    module = Reported()
    signatures = {f"{SCRIPT} numbers": module.numbers, "<b>texts": module.texts, "&amp; upper": module.upper}
    tf.saved_model.save(module, str(folder / "a<i>&'"), signatures)
    report, _ = rewrite(folder / "a<i>&'", folder / "rewritten", folder / "page.html", *FAST)
    (folder / "report.json").write_text(json.dumps(report))
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return json.loads((folder / "report.json").read_text())


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "page.html").read_text())


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    return save_copied(tmp_path_factory.mktemp("copied") / "model")


def bytes_of(path):
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())


def test_what_is_replaced(report, page):
    assert len(report["replaced"]) == 2 and page.column("parts", "Function") == [
        part["function"] for part in report["replaced"]
    ]
    for part, nodes, operators in zip(
        report["replaced"], page.column("parts", "Nodes"), page.column("parts", "Operators")
    ):
        assert sum(part["operators"].values()) == part["nodes"] == int(nodes)
        assert operators == ", ".join(f"{count} {name}" for name, count in part["operators"].items())
        assert part["operators"]["MatMul"] == 4
        assert list(part["operators"].values()) == sorted(part["operators"].values(), reverse=True)


def test_sizes_that_were_timed(report, page):
    timed = {signature["name"]: signature for signature in report["signatures"]}
    numbers, texts = timed[f"{SCRIPT} numbers"], timed["<b>texts"]
    assert numbers["inputs"] == [{"name": "x", "dtype": "f32", "shape": [1, 64]}]
    assert f"{numbers['before_ms'] / numbers['after_ms']:.2f} times as fast" in page.text
    assert "at x: f32[1,64]; results" in page.text
    assert texts["inputs"] == [] and texts["not_timed"] in page.text


def test_what_stays(report, page):
    assert any(text.startswith("&amp; upper: ") for text in report["kept"])
    reasons = page.column("kept", "Why")
    for text in report["kept"]:
        assert any(text.endswith(f": {reason}") for reason in reasons), text
    assert "As before, and not timed: &amp; upper." in page.text


def test_variables_that_left(report, page):
    assert len(report["dropped_variables"]) == 9 and any(
        "script" in name for name in report["dropped_variables"]
    )
    assert all(name in page.text for name in report["dropped_variables"])
    assert "9 variables" in page.text


def test_bytes_by_what_they_hold(folder, report, page):
    files = report["bytes"]["files"]
    for name, key in (("a<i>&'", "before"), ("rewritten", "after")):
        held = files[key]
        assert sum(held.values()) == report["bytes"][key] == bytes_of(folder / name)
        assert held["graph"] == bytes_of(folder / name / "saved_model.pb")
        assert held["variables"] == bytes_of(folder / name / "variables")
    assert files["after"]["program"] == report["bytes"]["program"] > 0
    assert files["after"]["program"] == bytes_of(folder / "rewritten" / "assets" / "intarsia.so")
    assert files["before"]["program"] == files["after"]["assets"] == 0
    assert page.column("sizes", "What for") == ["graph", "variables", "program", "other files"]
    assert report["threads"] >= 1 and report["processor"] in page.text


def test_names_do_no_harm(folder, page):
    assert page.tags.count("script") == 1 and "b" not in page.tags and "i" not in page.tags
    assert f"{SCRIPT} numbers" in page.text and "<b>texts" in page.text and "a<i>&'" in page.text
    text = (folder / "page.html").read_text()
    assert page.loaded == [] and "default-src 'none'" in text
    assert not re.search(r"https?:|url\(|@import", text)


def test_a_copy(copied, tmp_path):
    report, text = rewrite(copied, tmp_path / "new", tmp_path / "page.html")
    page = Page(text)
    assert report["replaced"] == [] and "parts" not in page.rows and "variables-title" not in text
    assert "The result is a copy of it." in page.text
    assert page.column("kept", "Signatures") == ["serving_default"]
    files = report["bytes"]["files"]
    assert files["before"] == files["after"] and page.column("sizes", "Now") == page.column("sizes", "Before")


def test_in_python(copied, tmp_path):
    report = intarsia.rewrite(copied, tmp_path / "new", html=tmp_path / "page.html")
    assert "The result is a copy of it." in Page((tmp_path / "page.html").read_text()).text
    assert report["bytes"]["files"]["after"]["graph"] > 0
    before = sorted(tmp_path.rglob("*"))
    for wrong in (
        tmp_path / "b",
        tmp_path / "b" / "page",
        copied / "saved_model.pb",
        tmp_path / "none" / "page",
    ):
        with pytest.raises(intarsia.Error):
            intarsia.rewrite(copied, tmp_path / "b", html=wrong)
    assert sorted(tmp_path.rglob("*")) == before


def test_pages_that_cannot_be_written(copied, tmp_path):
    """Nothing is computed then, and nothing replaced."""
    output, before = tmp_path / "new", bytes_of(copied)
    os.symlink(copied / "saved_model.pb", tmp_path / "link")
    for wrong, status, message in (
        (output, 2, "it is the output, or in it"),
        (output / "page.html", 2, "it is the output, or in it"),
        (tmp_path / "." / "new", 2, "it is the output, or in it"),
        (copied / "saved_model.pb", 2, "it is the input"),
        (tmp_path / "link", 2, "it is the input"),
        (tmp_path, 2, "it is a folder"),
        (tmp_path / "none" / "page.html", 1, "cannot write"),
    ):
        assert message in error_of("rewrite", copied, output, "--html", wrong, status=status)
    assert [file.name for file in tmp_path.iterdir()] == ["link"] and bytes_of(copied) == before


def test_an_error_leaves_the_older_page(copied, tmp_path):
    (tmp_path / "page.html").write_text("older")
    (tmp_path / "new").mkdir()
    assert "exists" in error_of(
        "rewrite", copied, tmp_path / "new", "--html", tmp_path / "page.html", status=2
    )
    assert (tmp_path / "page.html").read_text() == "older"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new", "page.html"]


def test_signatures_of_any_name_run(folder):
    """Nodes that call the program are named after signatures, but names of nodes cannot have all characters."""
    inputs = {"x": tf.random.normal([3, 64])}, {"text": tf.constant(["a", "b"])}
    models = [tf.saved_model.load(str(folder / name)) for name in ("a<i>&'", "rewritten")]
    for name, given in zip((f"{SCRIPT} numbers", "<b>texts"), inputs):
        wanted, got = [model.signatures[name](**given)["y"] for model in models]
        np.testing.assert_allclose(got, wanted, atol=1e-3 * np.abs(wanted).max())


USED = """
  const details = page.querySelector("details");
  details.open = false;
  details.querySelector("summary").click();
  page.querySelector("#sizes th:nth-child(3) button").click();
  Object.assign(result, {open: details.open, sizes: page.querySelector("#sizes tbody").textContent});
"""


@needs_browser
def test_on_a_phone(folder, tmp_path):
    result = use_in_browser(tmp_path, (folder / "page.html").read_text(), 360, 740, USED)
    assert result["open"]
    assert result["sizes"].index("variables") < result["sizes"].index("program")  # by what is there now
