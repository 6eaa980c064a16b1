// Joins vertices of one target into regions: how nodes are partitioned, as a function of dependencies alone.
#pragma once

#include <vector>

#include "plan/directed_graph.h"
#include "plan/partition_graph.h"

namespace intarsia {

/// As few regions as convexity allows (see partition_graph); each reads only from earlier ones, and their
/// `nodes` are vertices. `next[v]` are the vertices that read what v makes, each once, without a cycle.
std::vector<Region> grow_regions(const Neighbors& next, const std::vector<uint32_t>& target_of);

/// By vertex, the region that holds it.
std::vector<uint32_t> number_nodes(const std::vector<Region>& regions, size_t nodes);

}  // namespace intarsia
