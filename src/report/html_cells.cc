#include "report/html_cells.h"

#include <fmt/format.h>

#include "report/explain_svg.h"
#include "report/html_text.h"
#include "report/report.h"

namespace intarsia {

HtmlCell text_cell(const std::string& text) { return {escape_html(text)}; }
HtmlCell count_cell(size_t count) { return {std::to_string(count), std::to_string(count)}; }

HtmlCell bytes_cell(std::optional<uint64_t> bytes) {
  return bytes ? HtmlCell{print_bytes(bytes), std::to_string(*bytes)} : HtmlCell{};
}

HtmlCell operations_cell(uint64_t count) {
  return count > 0 ? HtmlCell{print_flops(count), std::to_string(count)} : HtmlCell{};
}

HtmlCell time_cell(std::optional<int64_t> nanoseconds) {
  return nanoseconds ? HtmlCell{print_milliseconds(nanoseconds), std::to_string(*nanoseconds)} : HtmlCell{};
}

HtmlCell move_cell(std::optional<int64_t> nanoseconds) {
  if (!nanoseconds) return {};
  const bool shorter = *nanoseconds < 0;
  return {
      fmt::format("{}{}", shorter ? "−" : "+", print_milliseconds(shorter ? -*nanoseconds : *nanoseconds)),
      std::to_string(*nanoseconds)};
}

HtmlCell list_cell(const std::vector<std::string>& items) {
  if (items.size() <= 1) return items.empty() ? HtmlCell{} : text_cell(items[0]);
  std::string list;
  for (const std::string& item : items) list += fmt::format("<li>{}</li>", escape_html(item));
  return {fmt::format("<ul>{}</ul>", list)};
}

HtmlCell folded_cell(const std::vector<std::string>& items, const char* noun) {
  constexpr size_t few = 4;
  HtmlCell list = list_cell(items);
  if (items.size() <= few) return list;
  return {fmt::format("<details><summary>{} {}s</summary>{}</details>", items.size(), noun, list.html),
          std::to_string(items.size())};
}

HtmlCell link_cell(const char* kind, size_t number) {
  return {fmt::format("<a href=\"#{0}-{1}\">{1}</a>", kind, number), std::to_string(number)};
}

HtmlCell stage_cell(size_t number) {
  return {fmt::format("<a class=\"stage\" style=\"--stage:{0}\" href=\"#stage-{0}\">{0}</a>", number),
          std::to_string(number)};
}

HtmlCell target_cell(const std::map<std::string, size_t>& colors, const std::string& target) {
  return {
      fmt::format("<span class=\"target {}\">{}</span>", target_class(colors, target), escape_html(target))};
}

}  // namespace intarsia
