"""The page of `explain --html`: it is whole in itself, shows each node once, escapes names, and works on a phone.

Covers: src/report/ explain_html.cc explain_svg.cc html_cells.cc html_page.cc html_sections.cc html_table.cc html_text.cc
layer_layout.cc
"""

import re
from xml.etree import ElementTree

import intarsia
import pytest
from cli_models import LIGHT_MODELS, SOURCE, TensorProto, call, compile_small, helper, save, save_small
from html_pages import HOSTILE, Page, needs_browser, use_in_browser


def explain(tmp_path, subject, *options):
    file = tmp_path / "page.html"
    call("explain", subject, "--html", file, *options)
    return file.read_text()


def picture_of(text):
    return ElementTree.fromstring(re.search(r"<svg.*?</svg>", text, re.DOTALL).group(0))


def save_branches(path, names):
    """Nodes that read the same input; an Add joins the last two."""
    nodes = [helper.make_node("Relu", ["x"], [f"r{i}"], name) for i, name in enumerate(names)]
    nodes.append(helper.make_node("Sum", [f"r{i}" for i in range(len(names))], ["y"], "sum"))
    shape = [2, 3]
    return save(path, nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)])


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """670 nodes in many regions on two devices."""
    return explain(
        tmp_path_factory.mktemp("large"), LIGHT_MODELS / "light_densenet121.onnx",
        "-d", "cpu,accel=sim:0", "--backends", "reference", "--pin", "*[0369]=reference@accel",
    )  # fmt: skip


def test_a_model_has_every_node_once(tmp_path):
    page = Page(explain(tmp_path, save_small(tmp_path / "small.onnx"), "--backends", "reference,onnxruntime"))
    assert page.column("nodes", "Name") == ["conv1", "relu1", "pool1", "flatten1", "gemm1"]
    assert (
        page.column("nodes", "Output")[0] == "f32[2,4,8,8]" and page.column("nodes", "Bytes")[0] == "2.0 KB"
    )
    assert page.column("nodes", "Target") == ["reference@cpu"] * 5
    assert page.column("nodes", "Others that could") == ["onnxruntime@cpu"] * 5
    assert page.column("regions", "Nodes") == ["5"]
    assert ["x", "input", "f32[2,3,8,8]"] in page.rows["ports"]


def test_a_program_has_every_node_once(tmp_path):
    program = compile_small(tmp_path, "-d", "cpu,accel=sim:0", "--pin", "relu1=reference@accel")
    text = explain(tmp_path, program)
    page = Page(text)
    assert page.column("nodes", "Name") == ["conv1", "relu1", "pool1", "flatten1", "gemm1"]
    assert page.column("nodes", "Why here")[1] == "pinned by the user"
    assert len(page.rows["copies"]) == 3 and page.column("copies", "Bytes") == ["2.0 KB", "2.0 KB"]
    assert "a program keeps the times of its regions" in text
    copied = [group for group in picture_of(text) if group.get("class") == "stream copied"]
    assert len(copied) == 2 and all("2.0 KB" in group.find("text").text for group in copied)


def test_stages_have_a_table_and_a_color(tmp_path):
    program = tmp_path / "staged.so"
    stages = ("--objective", "throughput", "--cut", "p", "-d", "a=cpu,b=sim:0", "--tune", "off")
    call("compile", save_small(tmp_path / "small.onnx"), "-o", program, "--backends", "reference", *stages)
    text = explain(tmp_path, program)
    page = Page(text)
    assert page.column("stages", "Stage") == ["0", "1"]
    assert page.column("stages", "Executors") == ["cpu", "sim:0"]
    assert page.column("stages", "Reads") == ["x", "p"] and page.column("stages", "Makes") == ["p", "y"]
    assert page.column("stages", "Regions") == ["0", "1"] == page.column("regions", "Stage")
    boxes = [group for group in picture_of(text).iter("g") if (group.get("class") or "").startswith("box t")]
    marks = [group.find("path").get("style") for group in boxes]
    assert marks == ["--stage:0", "--stage:1"]
    assert all(f"stage {i} · " in "".join(box.itertext()) for i, box in enumerate(boxes))
    assert "stages" not in Page(explain(tmp_path, tmp_path / "small.onnx", "--backends", "reference")).rows


def test_large(large):
    page = Page(large)
    names = page.column("nodes", "Name")
    assert len(names) == 670 == len(set(names))
    assert len(page.rows["regions"]) > 20


def test_nothing_is_loaded(large):
    assert Page(large).loaded == []
    assert not re.search(r"https?:|url\(|@import|\bimport\b|fetch\(|XMLHttpRequest", large)
    assert "default-src 'none'" in large


def test_names_do_no_harm(tmp_path):
    model = save_branches(tmp_path / "a<b>&'.onnx", HOSTILE)
    plain = save_branches(tmp_path / "plain.onnx", [f"node{i}" for i in range(len(HOSTILE))])
    page = Page(explain(tmp_path, model, "--backends", "reference"))
    assert page.column("nodes", "Name") == [*HOSTILE, "sum"]
    assert page.tags == Page(explain(tmp_path, plain, "--backends", "reference")).tags
    assert page.tags.count("script") == 1


def test_refused_operators_are_ranked(tmp_path):
    nodes = [
        helper.make_node("Small", ["x"], ["a"], "s1", domain="my.ops"),
        helper.make_node("Small", ["a"], ["b"], "s2", domain="my.ops"),
        helper.make_node("Relu", ["b"], ["y"], "r1"),
    ]
    shape = [2]
    model = save(
        tmp_path / "strange.onnx", nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)],
        opsets=[("", 18), ("my.ops", 1)], checked=False,
    )  # fmt: skip
    page = Page(explain(tmp_path, model))
    assert page.column("refused", "Operator")[0] == "my.ops.Small"
    assert page.column("refused", "Nodes")[0] == "2"
    assert page.column("refused", "Runs on")[0] == "nobody@cpu"


def boxes_of(picture):
    boxes = []
    for rectangle in picture.iter("rect"):
        x, y, width, height = (float(rectangle.get(name)) for name in ("x", "y", "width", "height"))
        boxes.append((x, y, x + width, y + height))
    return boxes


def test_boxes_do_not_overlap(large):
    picture = picture_of(large)
    boxes = boxes_of(picture)
    width, height = float(picture.get("width")), float(picture.get("height"))
    assert len(boxes) == len(Page(large).rows["regions"]) + 1  # a head there, inputs and outputs here
    assert all(0 <= box[0] and 0 <= box[1] and box[2] <= width and box[3] <= height for box in boxes)
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_regions_that_read_from_one_are_side_by_side(tmp_path):
    model = save_branches(tmp_path / "branches.onnx", ["left", "right"])
    slots = ("-d", "cpu,a=sim:0,b=sim:1", "--backends", "reference")
    picture = picture_of(
        explain(tmp_path, model, *slots, "--pin", "left=reference@a", "--pin", "right=reference@b")
    )
    _, left, right, both, _ = boxes_of(picture)
    assert left[1] == right[1] and left[3] < both[1]


def test_two_outputs_are_two_files(tmp_path):
    model, file = save_small(tmp_path / "small.onnx"), tmp_path / "out"
    message = call("explain", model, "--dot", file, "--html", file, status=2).stderr
    assert "--dot and --html name the same file" in message and not file.exists()


def test_the_same_page_in_python(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    page = explain(tmp_path, model, "--backends", "reference")
    assert intarsia.explain_html(model, backends="reference") == page


def test_texts_have_contrast():
    """WCAG 2.2, 1.4.3 (4.5:1 for text) and 1.4.11 (3:1 for the borders of boxes), light and dark."""
    style = (SOURCE / "src/report/html_page.css").read_text()
    schemes = [
        dict(re.findall(r"--([\w-]+): (#\w{6});", part))
        for part in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    assert len(schemes) == 2 and schemes[0].keys() == schemes[1].keys()

    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(a, b):
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    for scheme in schemes:
        for name in ("text", "muted", "link", "copy"):
            assert contrast(scheme[name], scheme["page"]) >= 4.5
            assert contrast(scheme[name], scheme["panel"]) >= 4.5
        for name in [name.removeprefix("fill") for name in scheme if name.startswith("fill")]:
            assert contrast(scheme["text"], scheme[f"fill{name}"]) >= 4.5
            assert contrast(scheme[f"line{name}"], scheme["page"]) >= 3


USED = """
  const rows = () => [...page.querySelectorAll("#nodes tbody tr")];
  const first = () => rows()[0].cells[1].textContent;
  const head = page.querySelectorAll("#nodes th")[1], input = page.querySelector("[data-table=nodes] input");
  Object.assign(result, {rows: rows().length, unsorted: first()});
  head.querySelector("button").click();
  result.ascending = [first(), head.getAttribute("aria-sort")];
  head.querySelector("button").click();
  result.descending = [first(), head.getAttribute("aria-sort")];
  input.value = "conv1";
  input.dispatchEvent(new inside.Event("input"));
  result.found = rows().filter((row) => !row.hidden).length;
  result.count = page.querySelector("[data-table=nodes] output").textContent;
"""


@needs_browser
@pytest.mark.parametrize("size", [(360, 740), (1600, 1000)])
def test_in_a_browser(tmp_path, large, size):
    """Nodes are sorted by name and searched."""
    names = Page(large).column("nodes", "Name")
    result = use_in_browser(tmp_path, large, *size, USED)
    assert result["rows"] == len(names) and result["unsorted"] == names[0]
    assert result["ascending"] == [min(names, key=str.lower), "ascending"]
    assert result["descending"] == [max(names, key=str.lower), "descending"]
    matching = [row for row in Page(large).rows["nodes"][1:] if "conv1" in " ".join(row).lower()]
    assert result["found"] == len(matching) and result["count"] == f"{len(matching)} of {len(names)}"
