#include "base/utf8.h"

#include <cstdint>

namespace intarsia {
namespace {

/// Returns the size of the character at the start of the text; 0 if there is no valid one.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto follows = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xbf) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const uint8_t low = first == 0xe0 ? 0xa0 : 0x80, high = first == 0xed ? 0x9f : 0xbf;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const uint8_t low = first == 0xf0 ? 0x90 : 0x80, high = first == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string escape_text(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (bytes == 0)
      escaped += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[0]));
    else
      escaped += text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return escaped;
}

Status check_utf8(std::string_view text, std::string_view what) {
  if (is_utf8(text)) return {};
  return fail("{} '{}' is not UTF-8, as names in model files must be; rename it where the model is written",
              what, escape_text(text));
}

}  // namespace intarsia
