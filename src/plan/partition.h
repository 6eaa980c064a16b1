// Partition: regions of nodes that one backend compiles each.
#pragma once

#include <map>
#include <vector>

#include "graph/graph.h"
#include "target/target.h"

namespace intarsia {

/// Nodes that one backend compiles as a whole. Nodes ascend, and so do the regions: each reads only from
/// earlier ones.
struct Region {
  uint32_t target = 0;
  std::vector<NodeId> nodes;
  uint32_t stage = 0;
};

struct Partition {
  std::vector<Region> regions;
  std::vector<uint32_t> region_of;   // indexed by node
  std::vector<Boundary> boundaries;  // indexed by region
  /// Layouts of values that lie not as in the model, but as the only backend that makes and reads them
  /// prefers (boundary_layouts.h).
  std::map<ValueId, AxisOrder> layouts = {};
};

}  // namespace intarsia
