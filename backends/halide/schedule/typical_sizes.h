// Numbers for open sizes with which schedules are chosen.
#pragma once

#include <map>

#include "graph/graph.h"

namespace intarsia::halide {

/// Symbol -> typical number.
using TypicalSizes = std::map<std::string, int64_t>;

/// Returns numbers for the open sizes of a region: the largest one to be fastest at; where none is given, 1
/// for the batch if there are other open sizes, and typical_size for all others, or the nearest number of the
/// range.
TypicalSizes typical_sizes(const Graph& region);

}  // namespace intarsia::halide
