// Names of plans and of their regions in the table of measured times.
#pragma once

#include "plan/plan.h"
#include "target/cost_table.h"

namespace intarsia {

/// Returns the content_digest of the graph's content: equal for regions that are equal but for names, in any
/// plan.
std::string digest_graph(const Graph& graph);

/// Returns the key of each region. Threads, precision, and what `code` depends on besides backends are those
/// of `conditions`.
std::vector<CostKey> region_keys(const PlanningProblem& problem, const Partition& partition,
                                 const CostKey& conditions);

/// Returns the key of each region in the run of a whole plan.
std::vector<CostKey> part_keys(const PlanningProblem& problem, const Partition& partition,
                               const CostKey& conditions);

/// Returns the key of each segment on its target (segment_times.h).
std::vector<CostKey> segment_keys(const PlanningProblem& problem,
                                  const std::vector<std::vector<NodeId>>& segments,
                                  const std::vector<uint32_t>& target_of, const CostKey& conditions);

/// Returns the key of the plan. `graph_digest`: digest_graph of the problem's graph, which takes long for a
/// big one.
CostKey plan_key(const PlanningProblem& problem, const Partition& partition, const std::string& graph_digest,
                 const CostKey& conditions);

/// Returns the key of the slot's copies: with another version of its plug-in, or with other declared times, a
/// device is another one.
std::string link_key(const DeviceSlot& slot);

}  // namespace intarsia
