// The picture in the page of an explanation.
#pragma once

#include <map>
#include <string>

#include "compile/explanation.h"

namespace intarsia {

/// Its targets, numbered as they come; "nobody@cpu" is not numbered. Colors go by these numbers.
std::map<std::string, size_t> number_targets(const Explanation& explanation);

/// The class of what has a target's color: "t0" to "t7", or "nobody".
std::string target_class(const std::map<std::string, size_t>& numbers, const std::string& target);

/// An <svg> element: a box a region, which links to "#region-N"; between them what flows, with the number of
/// values and bytes; copies between devices are dashed. Colors are left to the page's style.
std::string draw_regions(const Explanation& explanation);

}  // namespace intarsia
