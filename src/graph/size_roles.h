// What open sizes count, as far as names and operators tell.
#pragma once

#include <set>
#include <string>

#include "graph/graph.h"

namespace intarsia {

/// Returns the open size that counts items, by its name ("batch", "N") or else by its place, the first axis
/// of inputs; null if there is none.
const OpenSize* find_batch(const Graph& graph);

/// Returns the names of open sizes that heights and widths of pictures depend on: a convolution or a pooling
/// of two axes reads the picture.
std::set<std::string> find_picture_sides(const Graph& graph);

}  // namespace intarsia
