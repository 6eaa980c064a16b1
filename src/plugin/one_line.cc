#include "plugin/one_line.h"

#include <algorithm>

namespace intarsia {
namespace {

constexpr char escape = 0x1b;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Returns the length of the sequence after an escape character: "[31m" to its last letter, else 0.
size_t sequence_length(std::string_view text) {
  if (!text.starts_with('[')) return 0;
  const auto is_last = [](char c) { return c >= 0x40 && c <= 0x7e; };
  const auto last = std::find_if(text.begin() + 1, text.end(), is_last);
  return last == text.end() ? 1 : static_cast<size_t>(last - text.begin()) + 1;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == escape)
      text.remove_prefix(sequence_length(text));
    else
      line += is_control(c) ? ' ' : c;
  }
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  return line.substr(begin, line.find_last_not_of(' ') + 1 - begin);
}

}  // namespace intarsia
