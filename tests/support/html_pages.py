"""Pages of reports: their elements and tables as a test sees them, and a browser that shows them."""

import html
import html.parser
import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "headless_shell"))), None
)
HOSTILE = ("<script>alert(1)</script>", "</script><b>", "\"&'>", "{{7*7}}", "`${1}`")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
VOID = ("meta", "input")  # elements without an end


class Page(html.parser.HTMLParser):
    """Rows of tables and all text, and what would load something. Every element must end where it should."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.loaded, self.text = {}, [], [], ""
        self._table, self._in_cell, self._open, self._ids = None, False, [], set()
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self._open.append(tag)
        identifier = dict(attributes).get("id")
        assert identifier is None or identifier not in self._ids
        self._ids.add(identifier)
        for name, value in attributes:
            assert not name.startswith("on"), f"{tag} has {name}"
            if name in ("src", "href", "srcset", "data", "action") and not value.startswith("#"):
                self.loaded.append(value)
        if tag == "table":
            self._table = self.rows.setdefault(dict(attributes)["id"], [])
        elif tag == "tr" and self._table is not None:
            self._table.append([])
        elif tag in ("td", "th") and self._table is not None:
            self._table[-1].append("")
            self._in_cell = True

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        if tag == "table":
            self._table = None
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data):
        self.text += data
        if self._in_cell:
            self._table[-1][-1] += data

    def column(self, table, title):
        head, *rows = self.rows[table]
        return [row[head.index(title)] for row in rows]


WRAPPER = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const frame = document.createElement("iframe");
frame.style.cssText = "border: 0; width: WIDTHpx; height: HEIGHTpx";
frame.srcdoc = PAGE;
frame.onload = () => {
  const inside = frame.contentWindow, page = frame.contentDocument;
  const result = {width: inside.innerWidth, content: page.documentElement.scrollWidth};
  SCRIPT
  const shown = document.createElement("pre");
  shown.textContent = JSON.stringify(result);
  shown.id = "result";
  document.body.append(shown);
};
document.body.append(frame);
</script>"""


def use_in_browser(tmp_path, page, width, height, script=""):
    """Loads the page in a frame of this size, and runs a script with its window `inside` and document `page`, which adds to
    `result`. The page must not be wider than the frame."""
    wrapper = WRAPPER.replace("WIDTH", str(width)).replace("HEIGHT", str(height)).replace("SCRIPT", script)
    file = tmp_path / "wrapper.html"
    file.write_text(wrapper.replace("PAGE", json.dumps(page).replace("</", "<\\/")))
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         "--virtual-time-budget=10000", "--dump-dom", file.as_uri()],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    result = json.loads(html.unescape(found.group(1)))
    assert result["width"] == width and result["content"] <= width
    return result
