#include "base/requested_shape.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace intarsia {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

bool is_name(std::string_view text) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
  return !text.empty() && is_letter(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(text, [&](unsigned char c) { return is_letter(c) || std::isdigit(c) != 0; });
}

Status parse_range(std::string_view text, RequestedSize& size) {
  const size_t dots = text.find("..");
  const std::optional<int64_t> min = parse_number(text.substr(0, dots)),
                               max = parse_number(text.substr(dots + 2));
  if (!min || !max) return fail("'{}' is not a range; want two sizes, as in 1..32", text);
  if (*min > *max) return fail("'{}' is a range with its ends swapped; want {}..{}", text, *max, *min);
  if (*max > SizeRange::limit) return fail("'{}' ends beyond {}, the largest size", text, SizeRange::limit);
  size.range = {*min, *max};
  return {};
}

Status parse_tuned(std::string_view text, RequestedSize& size) {
  for (std::string_view part : split(text, ',')) {
    const std::optional<int64_t> number = parse_number(part);
    if (!number) return fail("'{}' is not a list of sizes, as 1,8,32 is", text);
    const SizeRange range = size.range.value_or(SizeRange{});
    if (!range.contains(*number))
      return fail("size {} of the list '{}' is not in {}..{}", *number, text, range.min, range.max);
    size.tuned.push_back(*number);
  }
  return {};
}

Result<RequestedSize> parse_size(std::string_view text, std::string_view shape) {
  RequestedSize size;
  size.number = parse_number(text);
  if (size.number || text == "?") return size;
  if (is_name(text)) {
    size.name = text;
    return size;
  }
  if (text.contains("..")) {
    const std::vector<std::string_view> parts = split(text, ':');
    TRY(parse_range(parts[0], size));
    if (parts.size() == 2) TRY(parse_tuned(parts[1], size));
    if (parts.size() <= 2) return size;
  } else if (text.contains(',')) {
    TRY(parse_tuned(text, size));
    return size;
  }
  return fail(
      "'{}' is not a shape; want sizes joined by x, as in 1x224x224x3: numbers, and for open sizes names "
      "(without x), ?, ranges as 1..32, or lists of sizes to be fastest at, as 1,8,32",
      shape);
}

}  // namespace

RequestedShape RequestedShape::fixed(const Shape& shape) {
  RequestedShape requested{.sizes = {}, .text = print_shape(shape)};
  for (int64_t size : shape) requested.sizes.push_back({.number = size, .range = {}, .tuned = {}});
  return requested;
}

Result<RequestedShape> parse_requested_shape(std::string_view text) {
  RequestedShape shape{.sizes = {}, .text = std::string(text)};
  if (text == "scalar" || text.empty()) return shape;
  for (std::string_view part : split(text, 'x')) shape.sizes.push_back(TRY(parse_size(part, text)));
  return shape;
}

}  // namespace intarsia
