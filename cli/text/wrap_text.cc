#include "cli/text/wrap_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/text/short_names.h"

namespace {

constexpr size_t default_width = 80;

/// Returns the end of the word at `at`; a number and its unit are one word.
size_t end_of_word(const std::string& line, size_t at) {
  const size_t end = std::min(line.find(' ', at), line.size());
  const bool is_number = line.find_first_not_of("0123456789.", at) >= end;
  return is_number && end < line.size() ? std::min(line.find(' ', end + 1), line.size()) : end;
}

std::string wrap(const std::string& line, size_t indent, size_t width) {
  if (count_characters(line) <= width) return line + "\n";
  std::string text, row;
  size_t at = 0;
  while (at < line.size()) {
    const size_t word = line.find_first_not_of(' ', at);
    if (word == std::string::npos) break;
    const size_t end = end_of_word(line, word);
    const std::string more = line.substr(at, end - at);  // word with the spaces in front of it
    const bool has_words = row.find_first_not_of(' ') != std::string::npos;
    if (has_words && count_characters(row + more) > width) {
      text += row + "\n";
      row = std::string(indent, ' ') + line.substr(word, end - word);
    } else {
      row += more;
    }
    at = end;
  }
  return text + row + "\n";
}

}  // namespace

size_t output_width() {
  winsize size{};
  const bool is_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (is_terminal) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long wanted = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  return wanted > 0 ? static_cast<size_t>(wanted) : default_width;
}

std::string wrap_lines(const std::string& text, size_t indent, size_t width) {
  std::string wrapped;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    wrapped += wrap(text.substr(at, end - at), indent, width);
    at = end + 1;
  }
  return wrapped;
}

void print_text(const std::string& text, size_t indent) {
  std::fputs(wrap_lines(text, indent, output_width()).c_str(), stdout);
}
