// Lists of texts without repetition.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace intarsia {

/// Appends the text unless the list has it.
inline void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(text);
}

}  // namespace intarsia
