// A function's regions and copies, for people.
#pragma once

#include <string>

#include "cli/text/print.h"

/// Formats a line for each region of the function; of many only the largest, below a summary:
///   regions   27: 14 on halide@cpu (210 nodes), 13 on onnxruntime@cpu (13 nodes)
///   region 4  halide@cpu: 90 nodes
/// `explained`: the file of which `intarsia explain` lists all regions. `lists_all`: a line for each, however
/// many.
std::string print_regions(const Json& function, const std::string& explained, bool lists_all);

/// Formats the values that are copied between devices: as a summary if there are many.
std::string print_copies(const Json& function);
