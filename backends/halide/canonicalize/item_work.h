// Choice between a region's kernels for one item and those for all items at once.
#pragma once

#include "graph/graph.h"

namespace intarsia::halide {

/// Checks whether a region over an open batch is better run on all items at once than on one after the other.
/// `item`: the region for one item (split_items). It is so where an item is little work, which calls of
/// kernels would outweigh, and where its products have few rows, for which their weights would be read again
/// for each item.
///   x: f32[N,512], y = MatMul(x, 512x512)   ->   all at once; 16 items read 1 MB instead of 16 MB
///   x: f32[N,3,224,224], y = Conv(x, 64x3x7x7)   ->   item by item
bool is_better_at_once(const Graph& item);

}  // namespace intarsia::halide
