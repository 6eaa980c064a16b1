#include "report/html_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace intarsia {
namespace {

/// Row count below which a table has no search box.
constexpr size_t rows_to_search = 8;

std::string class_of(const HtmlColumn& column) {
  return *column.style == 0 ? "" : fmt::format(" class=\"{}\"", column.style);
}

}  // namespace

void HtmlTable::add_row(std::vector<HtmlCell> cells, std::string id) {
  rows_.push_back({std::move(cells), std::move(id)});
}

std::vector<size_t> HtmlTable::columns_with_content() const {
  std::vector<size_t> columns;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (std::ranges::any_of(rows_, [&](const Row& row) { return !row.cells[i].html.empty(); }))
      columns.push_back(i);
  }
  return columns;
}

std::string HtmlTable::print_row(const Row& row, const std::vector<size_t>& columns) const {
  std::string text = row.id.empty() ? "<tr>" : fmt::format("<tr id=\"{}\">", row.id);
  for (size_t i : columns) {
    const HtmlCell& cell = row.cells[i];
    const std::string key = cell.key.empty() ? "" : fmt::format(" data-key=\"{}\"", cell.key);
    text += fmt::format("<td{}{}>{}</td>", class_of(columns_[i]), key, cell.html);
  }
  return text + "</tr>\n";
}

std::string HtmlTable::print() const {
  std::string text;
  if (rows_.size() >= rows_to_search) {
    text += fmt::format(
        "<div class=\"tools\" data-table=\"{}\" hidden><label>Search <input type=\"search\" "
        "autocomplete=\"off\" spellcheck=\"false\"></label><output class=\"muted\"></output></div>\n",
        id_);
  }
  text += fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{0}-title\">"
      "<table id=\"{0}\" class=\"sortable\">\n<thead><tr>",
      id_);
  const std::vector<size_t> columns = columns_with_content();
  for (size_t i : columns)
    text += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(columns_[i]), columns_[i].title);
  text += "</tr></thead>\n<tbody>\n";
  for (const Row& row : rows_) text += print_row(row, columns);
  return text + "</tbody>\n</table></div>\n";
}

}  // namespace intarsia
