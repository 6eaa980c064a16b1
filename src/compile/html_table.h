// A table of a page, which the page's script makes sortable and searchable.
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
  std::string key = {};  // a number to sort by; empty: sorted as text
};

class HtmlTable {
 public:
  /// `id` names it in the page.
  HtmlTable(std::string id, std::vector<HtmlColumn> columns)
      : id_(std::move(id)), columns_(std::move(columns)) {}

  /// One cell a column. `id` is what links lead to; empty: none do.
  void add_row(std::vector<HtmlCell> cells, std::string id = {});
  bool empty() const { return rows_.empty(); }
  /// In a container that scrolls; below a box to search in where there are several rows. Columns with nothing
  /// in them are left out.
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
