// The page is whole without this: tables become sortable and searchable, the picture can be enlarged.
"use strict";

/// What a cell is sorted by: its data-key is a number. Blank cells come last in either order.
function sortKey(row, column) {
  const cell = row.cells[column];
  const text = cell.textContent.trim();
  if (cell.dataset.key !== undefined) return Number(cell.dataset.key);
  return text === "" ? null : text.toLowerCase();
}

function compareKeys(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

function sortRows(table, column, descending) {
  const body = table.tBodies[0];
  const keyed = Array.from(body.rows, (row) => ({ row, key: sortKey(row, column) }));
  const blank = keyed.filter((entry) => entry.key === null);
  const sorted = keyed.filter((entry) => entry.key !== null);
  sorted.sort((a, b) => (descending ? compareKeys(b.key, a.key) : compareKeys(a.key, b.key)));
  body.append(...sorted.concat(blank).map((entry) => entry.row));
}

function makeSortable(table) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sortRows(table, column, descending);
    });
  });
}

/// Rows with all of the words stay.
function makeSearchable(tools) {
  const table = document.getElementById(tools.dataset.table);
  const input = tools.querySelector("input"), count = tools.querySelector("output");
  const rows = Array.from(table.tBodies[0].rows, (row) => ({
    row,
    text: Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase(),
  }));
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const { row, text } of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) ++found;
    }
    count.textContent = `${found} of ${rows.length}`;
  };
  input.addEventListener("input", search);
  tools.hidden = false;
  search();
}

/// A link to a row that is not shown shows it.
function showTarget() {
  const row = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!row || !row.hidden) return;
  const tools = document.querySelector(`.tools[data-table="${row.closest("table").id}"]`);
  const input = tools.querySelector("input");
  input.value = "";
  input.dispatchEvent(new Event("input"));
  row.scrollIntoView();
}

function makeZoomable(picture, tools) {
  const width = picture.viewBox.baseVal.width, height = picture.viewBox.baseVal.height;
  const shown = picture.parentElement;
  let scale = 1;
  const zoom = (to) => {
    const middle = (shown.scrollLeft + shown.clientWidth / 2) / scale;
    scale = Math.min(Math.max(to, 0.1), 4);
    picture.setAttribute("width", width * scale);
    picture.setAttribute("height", height * scale);
    shown.scrollLeft = middle * scale - shown.clientWidth / 2;
  };
  const actions = {
    in: () => zoom(scale * 1.25),
    out: () => zoom(scale / 1.25),
    fit: () => zoom(Math.min(shown.clientWidth / width, 1)),
    all: () => zoom(1),
  };
  for (const button of tools.querySelectorAll("button"))
    button.addEventListener("click", actions[button.dataset.zoom]);
  tools.hidden = false;
  shown.scrollLeft = (picture.clientWidth - shown.clientWidth) / 2;
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll(".tools[data-table]").forEach(makeSearchable);
const picture = document.getElementById("picture");
if (picture) makeZoomable(picture, document.getElementById("zoom"));
addEventListener("hashchange", showTarget);
