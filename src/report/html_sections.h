// Sections of the HTML page of an explanation: what it has tables of.
#pragma once

#include <vector>

#include "report/explanation.h"
#include "report/html_page.h"

namespace intarsia {

/// Returns the sections in their order in the page; those that have nothing to show are left out.
std::vector<HtmlSection> html_sections(const Explanation& explanation);

}  // namespace intarsia
