// The picture in the HTML page of an explanation.
#pragma once

#include <map>
#include <string>

#include "report/explanation.h"

namespace intarsia {

/// Numbers the targets in order of appearance, except "nobody@cpu". Colors follow these numbers.
std::map<std::string, size_t> number_targets(const Explanation& explanation);

/// Returns the CSS class for elements in a target's color: "t0" to "t7", or "nobody".
std::string target_class(const std::map<std::string, size_t>& numbers, const std::string& target);

/// Returns an <svg> element with one box per region, which links to "#region-N", and the data flow between
/// boxes with its number of values and bytes; copies between devices are dashed. Colors are left to the
/// page's style.
std::string draw_regions(const Explanation& explanation);

}  // namespace intarsia
