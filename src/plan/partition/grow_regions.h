// Regions of vertices of one target: how nodes are partitioned, as a function of dependencies alone.
#pragma once

#include <vector>

#include "plan/partition.h"
#include "plan/partition/directed_graph.h"

namespace intarsia {

/// Grows as few regions as convexity allows (see partition_graph); each reads only from earlier ones, and
/// their `nodes` are vertices. `next[v]` are the vertices that read what v makes, each once, without a cycle.
std::vector<Region> grow_regions(const Neighbors& next, const std::vector<uint32_t>& target_of);

/// Returns, for each vertex, the region that holds it.
std::vector<uint32_t> number_nodes(const std::vector<Region>& regions, size_t nodes);

}  // namespace intarsia
