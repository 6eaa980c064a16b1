// Cells of the tables in the HTML page of an explanation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/html_table.h"

namespace intarsia {

HtmlCell text_cell(const std::string& text);
HtmlCell count_cell(size_t count);

/// Returns a size, a number of operations or a time; an empty cell if it is unknown or there are none.
HtmlCell bytes_cell(std::optional<uint64_t> bytes);
HtmlCell operations_cell(uint64_t count);
HtmlCell time_cell(std::optional<int64_t> nanoseconds);

/// Returns the change of a run's time as a cell; "−0.4 ms" means a run would be shorter.
HtmlCell move_cell(std::optional<int64_t> nanoseconds);

/// Returns a cell with one item, or with a list of several.
HtmlCell list_cell(const std::vector<std::string>& items);

/// Returns the list, folded under how many items it has if these are many: "12 tensors".
HtmlCell folded_cell(const std::vector<std::string>& items, const char* noun);

/// Returns a link to the row "KIND-NUMBER" of another table.
HtmlCell link_cell(const char* kind, size_t number);

/// Returns a link to the stage, in the color it has in the picture.
HtmlCell stage_cell(size_t number);

/// Returns the target's name in its color; `colors` are those of number_targets().
HtmlCell target_cell(const std::map<std::string, size_t>& colors, const std::string& target);

}  // namespace intarsia
