#include "report/html_text.h"

#include "base/utf8.h"

namespace intarsia {
namespace {

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (char c : escape_text(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  return escaped;
}

std::string shorten(std::string_view text, size_t most) {
  size_t characters = 0, last = 0;  // start of the last character that fits
  for (size_t i = 0; i < text.size(); ++i) {
    if (continues_character(text[i])) continue;
    ++characters;
    if (characters == most) last = i;
    if (characters > most) return std::string(text.substr(0, last)) + "…";
  }
  return std::string(text);
}

std::string shorten_name(std::string_view name, size_t most) {
  size_t characters = 0, first = name.size();  // start of the characters that fit
  for (size_t i = name.size(); i-- > 0;) {
    if (continues_character(name[i])) continue;
    ++characters;
    if (characters + 1 == most) first = i;
    if (characters > most) return "…" + std::string(name.substr(first));
  }
  return std::string(name);
}

}  // namespace intarsia
