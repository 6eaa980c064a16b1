// Sections of the HTML page of an explanation: what it has tables of.
#pragma once

#include <string>
#include <vector>

#include "report/explanation.h"

namespace intarsia {

/// Section of the page below its picture; links lead to "ID-title".
struct HtmlSection {
  std::string id, title;
  std::string content;  // escaped
};

/// Returns a paragraph that explains a table or picture; `text` is escaped.
std::string html_note(const std::string& text);

/// Returns the sections in their order in the page; those that have nothing to show are left out.
std::vector<HtmlSection> html_sections(const Explanation& explanation);

}  // namespace intarsia
