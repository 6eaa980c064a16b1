#include "cli/text/short_names.h"

#include <algorithm>

namespace {

constexpr const char* dropped = "…";

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// Returns the offset of character `number`.
size_t character_offset(const std::string& text, size_t number) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && number-- == 0) break;
  }
  return at;
}

std::vector<std::string> split_path(const std::string& name) {
  std::vector<std::string> parts(1);
  for (char c : name) {
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Joins the parts; dropped neighbors become one.
std::string join_path(const std::vector<std::string>& parts) {
  std::string text = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] != dropped || parts[i - 1] != dropped) text += "/" + parts[i];
  }
  return text;
}

}  // namespace

size_t count_characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string fit(const std::string& text, size_t width) {
  const size_t length = count_characters(text);
  if (length <= width) return text + std::string(width - length, ' ');
  const size_t kept = width - 1, front = kept / 3;  // names differ at their ends
  return text.substr(0, character_offset(text, front)) + dropped +
         text.substr(character_offset(text, length - (kept - front)));
}

NameShortener::NameShortener(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const std::string& part : split_path(name)) ++counts_[part];
  }
}

std::string NameShortener::shorten(const std::string& name, size_t width) const {
  std::vector<std::string> parts = split_path(name);
  const auto count = [&](const std::string& part) {
    const auto known = counts_.find(part);
    return part == dropped || known == counts_.end() ? 0 : known->second;
  };
  for (size_t left = parts.size(); left > 1 && count_characters(join_path(parts)) > width; --left) {
    *std::max_element(parts.begin(), parts.end(), [&](const std::string& a, const std::string& b) {
      return count(a) < count(b);
    }) = dropped;
  }
  const std::string text = join_path(parts);
  if (count_characters(text) <= width) return text;
  return *std::find_if(parts.begin(), parts.end(), [](const std::string& part) { return part != dropped; });
}
