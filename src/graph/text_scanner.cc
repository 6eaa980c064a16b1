#include "graph/text_scanner.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "graph/text_words.h"

namespace intarsia {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

template <typename T>
bool read_whole(std::string_view text, T& value, auto... base) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  return error == std::errc() && end == text.data() + text.size();
}

/// Reads "nan(ffc00001)" with the bits of a NaN, else digits, inf or nan.
template <typename Float, typename Bits>
bool read_float(std::string_view text, Float& value) {
  if (!text.starts_with("nan("))
    return text == "nan" || text.find("nan") == text.npos ? read_whole(text, value) : false;
  Bits bits = 0;
  if (!text.ends_with(")") || !read_whole(text.substr(4, text.size() - 5), bits, 16)) return false;
  value = std::bit_cast<Float>(bits);
  return value != value;
}

}  // namespace

void TextScanner::skip_spaces() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
}

std::string TextScanner::place() const {
  const std::string_view before = text_.substr(0, at_);
  const size_t line_start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}: ", 1 + std::ranges::count(before, '\n'), 1 + at_ - line_start);
}

tl::unexpected<Error> TextScanner::want(std::string_view what) const {
  if (at_ >= text_.size()) return error("want {}, got the end of the text", what);
  if (text_[at_] == '\n') return error("want {}, got the end of the line", what);
  const std::string_view rest = text_.substr(at_, 16);
  return error("want {}, got {}", what, print_quoted(rest.substr(0, rest.find('\n'))));
}

bool TextScanner::at_end() {
  for (skip_spaces(); at_ < text_.size() && text_[at_] == '\n'; skip_spaces()) ++at_;
  return at_ == text_.size();
}

bool TextScanner::at(std::string_view mark) {
  skip_spaces();
  return text_.substr(at_).starts_with(mark);
}

bool TextScanner::accept(std::string_view mark) {
  if (!at(mark)) return false;
  at_ += mark.size();
  return true;
}

Status TextScanner::expect(std::string_view mark) {
  if (!accept(mark)) return want(fmt::format("'{}'", mark));
  return {};
}

Status TextScanner::end_line() {
  skip_spaces();
  if (at_ < text_.size() && text_[at_] != '\n') return want("the end of the line");
  return {};
}

std::string_view TextScanner::plain(std::string_view marks) {
  skip_spaces();
  const size_t start = at_;
  while (at_ < text_.size() && (is_letter_or_digit(text_[at_]) || marks.find(text_[at_]) != marks.npos))
    ++at_;
  return text_.substr(start, at_ - start);
}

Result<char> TextScanner::escape() {
  const std::string_view rest = text_.substr(at_);
  if (rest.starts_with("n") || rest.starts_with("\"") || rest.starts_with("\\")) {
    ++at_;
    return rest[0] == 'n' ? '\n' : rest[0];
  }
  if (rest.size() < 3 || rest[0] != 'x' || hex_digit(rest[1]) < 0 || hex_digit(rest[2]) < 0) {
    return want("\\\", \\\\, \\n or \\x and two hex digits");
  }
  at_ += 3;
  return static_cast<char>(hex_digit(rest[1]) * 16 + hex_digit(rest[2]));
}

Result<std::string> TextScanner::quoted() {
  TRY(expect("\""));
  std::string text;
  while (at_ < text_.size() && text_[at_] != '\n') {
    const char c = text_[at_++];
    if (c == '"') return text;
    text += c == '\\' ? TRY(escape()) : c;
  }
  return want("a closing quote");
}

Result<std::string> TextScanner::word(std::string_view what) {
  if (at("\"")) return quoted();
  const std::string_view text = plain();
  if (text.empty()) return want(what);
  return std::string(text);
}

Result<std::string> TextScanner::value_name() {
  if (!accept("%")) return want("a value (%name)");
  if (text_.substr(at_).starts_with("\"")) return quoted();
  const size_t start = at_;
  while (at_ < text_.size() &&
         (is_letter_or_digit(text_[at_]) || plain_name_marks.find(text_[at_]) != std::string_view::npos))
    ++at_;
  if (at_ == start) return want("a name after %");
  return std::string(text_.substr(start, at_ - start));
}

Result<int64_t> TextScanner::integer() {
  const size_t start = position();
  int64_t value = 0;
  if (!read_whole(plain("+-."), value)) {
    go_back(start);
    return want("an integer");
  }
  return value;
}

Result<double> TextScanner::real() {
  const size_t start = position();
  double value = 0;
  if (!read_float<double, uint64_t>(plain("+-.()"), value)) {
    go_back(start);
    return want("a number");
  }
  return value;
}

Result<float> TextScanner::real_f32() {
  const size_t start = position();
  float value = 0;
  if (!read_float<float, uint32_t>(plain("+-.()"), value)) {
    go_back(start);
    return want("a number that fits in f32");
  }
  return value;
}

Result<std::string> TextScanner::hex() {
  TRY(expect("<"));
  std::string bytes;
  for (; !at(">"); at_ += 2) {
    const std::string_view pair = text_.substr(at_, 2);
    if (pair.size() < 2 || hex_digit(pair[0]) < 0 || hex_digit(pair[1]) < 0)
      return want("pairs of hex digits");
    bytes += static_cast<char>(hex_digit(pair[0]) * 16 + hex_digit(pair[1]));
  }
  TRY(expect(">"));
  return bytes;
}

}  // namespace intarsia
