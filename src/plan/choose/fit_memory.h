// Plans that keep the limits of the memories they run in.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "plan/memory_use.h"
#include "plan/segment_costs.h"

namespace intarsia {

/// Finder of plans that fit in memory: asks for the memory use of each plan once, and remembers the plan that
/// came closest to fitting.
class MemoryFitter {
 public:
  /// Refers to its arguments, which outlive it. Without limits everything fits, and nothing is asked for.
  MemoryFitter(const PlanningProblem& problem, const MemoryTools& tools, const Replan& replan);

  /// Checks whether the plan fits. Error: the plan does not compile.
  Result<bool> fits(const Plan& plan);

  /// Finds up to `most` plans that fit, with nodes of `placed` elsewhere, the cheapest first
  /// (shrink_placement). For a small problem it misses none if the estimates are exact.
  std::vector<Plan> find(const Placement& placed, const std::optional<SegmentCosts>& costs, size_t most);

  /// Explains why nothing fits: which memory has too little room for what, and how much is needed at least.
  /// `is_given`: no other plan was to be tried.
  Error explain_failure(const Plan& placed, bool is_given) const;

 private:
  /// Appends plans of the placements that fit, up to `most` plans in all, until `most_tries` do not fit.
  void add_fitting(std::vector<Placement> placements, size_t most, size_t most_tries,
                   std::vector<Plan>& found);

  Result<std::vector<MemoryUse>> estimate_with_surplus(const Plan& plan) const;
  void note_surplus(const std::vector<MemoryUse>& estimated, const std::vector<MemoryUse>& measured);

  const PlanningProblem& problem_;
  const MemoryTools& tools_;
  const Replan& replan_;
  bool has_limits_;
  std::map<std::string, std::vector<MemoryUse>> known_;  // memory use by plan (identify_plan)
  std::vector<uint64_t> surplus_;  // bytes by memory that plans needed beyond their estimates, in this search
};

/// Checks that `plan` ("the program"), which needs `uses`, exceeds no limit. Error: it does, and by how much.
Status check_memory(const PlanningProblem& problem, const std::vector<MemoryUse>& uses,
                    const std::string& plan = "the program");

}  // namespace intarsia
