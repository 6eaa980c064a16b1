// HTML table that the page's script makes sortable and searchable.
#pragma once

#include <string>
#include <vector>

namespace intarsia {

struct HtmlColumn {
  std::string title;       // escaped
  const char* style = "";  // class of its cells: "number", "name", "long"
};

struct HtmlCell {
  std::string html;      // escaped
  std::string key = {};  // number to sort by; empty to sort as text
};

class HtmlTable {
 public:
  /// Creates an empty table; `id` names it in the page.
  HtmlTable(std::string id, std::vector<HtmlColumn> columns)
      : id_(std::move(id)), columns_(std::move(columns)) {}

  /// Adds a row with one cell per column. `id` is the target of links to the row; empty if there are none.
  void add_row(std::vector<HtmlCell> cells, std::string id = {});
  bool empty() const { return rows_.empty(); }
  /// Prints the table in a scrolling container, below a search box if it has many rows. Empty columns are
  /// left out.
  std::string print() const;

 private:
  struct Row {
    std::vector<HtmlCell> cells;
    std::string id;
  };
  std::vector<size_t> columns_with_content() const;
  std::string print_row(const Row& row, const std::vector<size_t>& columns) const;

  const std::string id_;
  const std::vector<HtmlColumn> columns_;
  std::vector<Row> rows_;
};

}  // namespace intarsia
