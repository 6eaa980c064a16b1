// Open sizes of a region: which of them a run can tell.
#pragma once

#include <set>
#include <string>

#include "graph/graph.h"

namespace intarsia::halide {

/// Returns the symbols that a run tells: the open sizes of the program, and those that the shapes of the
/// region's inputs tell, since an axis is a multiple of one plus a number.
std::set<std::string> told_sizes(const Graph& region);

/// Checks for a node whose output's size its kernel counts, so that only another region reads it.
bool is_counted(const Node& node);

/// Returns a symbol of the region's sizes that a run cannot tell, but for those that kernels count; empty if
/// there is none.
std::string find_untold_size(const Graph& region);

/// Returns a symbol of the region's sizes that depends on data; empty if there is none.
std::string find_data_size(const Graph& region);
inline bool has_data_sizes(const Graph& region) { return !find_data_size(region).empty(); }

}  // namespace intarsia::halide
