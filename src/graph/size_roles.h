// What open sizes count, as far as names and operators tell.
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace intarsia {

/// Returns the open size that counts items, by its name ("batch", "N") or else by its place, the first axis
/// of inputs; null if there is none.
const OpenSize* find_batch(const Graph& graph);

/// Returns usual numbers for open sizes that convolutions and poolings slide along, by name: 224 for heights
/// and widths of pictures; for the length of a signal the first power of two from 128 on with which the
/// shortest of their results has 32 steps.
///   x: f32[1,80,t], Conv of stride 2, Conv of stride 2, Conv of stride 2   ->   t: 256
std::map<std::string, int64_t> usual_sizes(const Graph& graph);

}  // namespace intarsia
