// Frame of an HTML page: its head, totals and sections.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace intarsia {

/// Section of a page; links lead to "ID-title".
struct HtmlSection {
  std::string id, title;
  std::string content;  // escaped
};

struct HtmlPage {
  std::string subject;  // path of the model or program
  std::string what;     // what the page shows of it: "what runs where"
  const char* style;    // what the page needs beyond the style of all pages
  std::string lead;     // what stands above the links to the sections, escaped
  std::vector<HtmlSection> sections;
};

/// Returns a paragraph that explains a table or picture; `text` is escaped.
std::string html_note(const std::string& text);

/// Returns boxes with a name and an amount each; those without an amount are left out.
std::string html_totals(const std::vector<std::pair<const char*, std::string>>& totals);

/// Returns a self-contained page: a browser shows it without a network. It is complete without its script,
/// which only sorts, searches and enlarges.
std::string html_page(const HtmlPage& page);

}  // namespace intarsia
