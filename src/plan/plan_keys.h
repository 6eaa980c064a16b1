// The names of plans and of their regions in the table of what was measured.
#pragma once

#include "plan/plan.h"
#include "target/cost_table.h"

namespace intarsia {

/// content_digest of the graph's content: equal for regions that are equal but for names, in any plan.
std::string digest_graph(const Graph& graph);

/// One entry a region. Of `conditions` are threads, precision, and what `code` depends on besides backends.
std::vector<CostKey> region_keys(const PlanningProblem& problem, const Partition& partition,
                                 const CostKey& conditions);

/// The same of regions in the run of a whole plan.
std::vector<CostKey> part_keys(const PlanningProblem& problem, const Partition& partition,
                               const CostKey& conditions);

/// One entry a segment, on its target (segment_times.h).
std::vector<CostKey> segment_keys(const PlanningProblem& problem,
                                  const std::vector<std::vector<NodeId>>& segments,
                                  const std::vector<uint32_t>& target_of, const CostKey& conditions);

/// `graph_digest`: digest_graph of the problem's graph, which takes long for a big one.
CostKey plan_key(const PlanningProblem& problem, const Partition& partition, const std::string& graph_digest,
                 const CostKey& conditions);

}  // namespace intarsia
