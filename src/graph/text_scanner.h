// Scanner for the words of the text form (text_words.h) in untrusted text.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace intarsia {

/// A position in a text. Every reader skips spaces and comments (# to the end of the line) before a word but
/// never a line break. Errors start with "line 3, column 7: ". The text must outlive the scanner.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

  bool at_end();                         // whether the text ends here; skips empty lines
  bool at(std::string_view mark);        // whether these are the next characters
  bool accept(std::string_view mark);    // at() that also consumes them
  Status expect(std::string_view mark);  // an error if the next characters differ
  Status end_line();

  /// Reads a run of letters, digits and `marks`; may be empty.
  std::string_view plain(std::string_view marks = "_");
  Result<std::string> quoted();
  /// Reads a nonempty plain word or a quoted one.
  Result<std::string> word(std::string_view what);
  /// Reads "%x" or "%"x"".
  Result<std::string> value_name();
  Result<int64_t> integer();
  Result<double> real();
  Result<float> real_f32();
  /// Reads "<0a04>".
  Result<std::string> hex();

  /// Returns the start of the next word.
  size_t position() {
    skip_spaces();
    return at_;
  }
  void go_back(size_t position) { at_ = position; }

  template <typename... Args>
  [[nodiscard]] tl::unexpected<Error> error(fmt::format_string<Args...> format, Args&&... args) const {
    return fail("{}{}", place(), fmt::format(format, std::forward<Args>(args)...));
  }
  /// Returns the error "want X, got 'the next characters'".
  [[nodiscard]] tl::unexpected<Error> want(std::string_view what) const;

 private:
  void skip_spaces();
  std::string place() const;
  Result<char> escape();

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace intarsia
