// Regions, which join nodes of one target.
#pragma once

#include "plan/partition.h"
#include "plan/placement.h"

namespace intarsia {

/// Joins nodes into as few regions as convexity allows. Regions grow in waves, each taking all nodes of its
/// target that depend on nothing but nodes already taken, so the contracted graph has no cycle by
/// construction; then regions of one target are joined unless a path through another connects them. For two
/// targets their number is the least possible; for more, no two of the result could be joined. Nodes of one
/// group (Placement::group) are taken together, so that one region holds them all: groups lie on one target,
/// and with each made one node the graph has no cycle (group_opaque_values sees to it). No region spans two
/// stages, and those of a stage follow each other (verify_stage_order sees to it); nor does one span two of
/// PlacedNode::open_size. The result depends on the
/// dependencies alone, not on the order of nodes. Linear in nodes and edges for a fixed number of targets.
///   A -> B -> C -> D -> E, A -> E, with B and D elsewhere:  {A} {B} {C} {D} {E}
Partition partition_graph(const Graph& graph, const Placement& placement);

/// Returns the partition into these regions, which hold each node once.
Partition number_regions(const Graph& graph, std::vector<Region> regions);

/// Checks independently that every node is in one region of its target, stage and open size, with its whole
/// group, that the
/// contracted graph has no cycle, and that boundaries list what crosses between regions.
Status verify_partition(const Graph& graph, const Placement& placement, const Partition& partition);

}  // namespace intarsia
