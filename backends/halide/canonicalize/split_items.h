// Regions over an open size as the same work on each of its items.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace intarsia::halide {

/// Region of which a run computes one item at a time.
struct ItemRegion {
  Graph item;                     // region for one item
  std::vector<bool> input_moves;  // whether an input has a part per item, or is the same for all; by input
};

/// Splits a region in items: its values have one open size, N, as the first axis, or as a factor of it, and
/// no item of an output depends on other items of the inputs. The canonical graphs for 2 and for 3 items are
/// compared: they differ in first axes only, constants included, and each node keeps items apart.
///   x: f32[N,8], w: f32[8,4], y = MatMul(x, w): f32[N,4]   ->   y: f32[1,4] of x: f32[1,8]; x moves
/// Error: it says what mixes items.
Result<ItemRegion> split_items(const Graph& region);

}  // namespace intarsia::halide
