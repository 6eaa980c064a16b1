// Joins nodes of one target into regions.
#pragma once

#include <map>
#include <vector>

#include "graph/graph.h"
#include "plan/place_nodes.h"

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
  std::vector<uint32_t> region_of;   // one entry a node
  std::vector<Boundary> boundaries;  // one entry a region
  /// Of values that do not lie as in the model, but as the only backend that makes and reads them likes best
  /// (boundary_layouts.h).
  std::map<ValueId, AxisOrder> layouts = {};
};

/// As few regions as convexity allows: regions grow in waves, each taking all nodes of its target that depend
/// on nothing outside of what is taken already, so the contracted graph has no cycle by construction; then
/// regions of one target that no path through another connects are joined. For two targets their number is
/// the least possible; for more no two could be joined. Nodes of one group (Placement::group) are taken
/// together, so that one region holds them all: groups lie on one target, and with each made one node the
/// graph has no cycle (group_opaque_values sees to it). No region is of two stages, and those of a stage
/// follow each other (verify_stage_order sees to it). The result depends on the dependencies alone, not on
/// the order of nodes. Linear in nodes and edges for a fixed number of targets.
///   A -> B -> C -> D -> E, A -> E, with B and D elsewhere:  {A} {B} {C} {D} {E}
Partition partition_graph(const Graph& graph, const Placement& placement);

/// The partition of these regions, which hold each node once.
Partition number_regions(const Graph& graph, std::vector<Region> regions);

/// Independent check: every node is in one region of its target, with its whole group, the contracted
/// graph has no cycle, and boundaries have what crosses between regions.
Status verify_partition(const Graph& graph, const Placement& placement, const Partition& partition);

}  // namespace intarsia
