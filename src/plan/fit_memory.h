// Plans that keep the limits of the memories that they run in.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "plan/memory_use.h"
#include "plan/mix_backends.h"

namespace intarsia {

/// Asks for the memory of plans, each once, and remembers the one that came closest to fitting.
class MemoryFitter {
 public:
  /// Without limits everything fits, and nothing is asked for. All of it outlives this.
  MemoryFitter(const PlanningProblem& problem, const MemoryTools& tools, const Replan& replan);

  /// Error: the plan does not compile.
  Result<bool> fits(const Plan& plan);

  /// Some plans that fit, up to `most`, with nodes of `placed` elsewhere, the cheapest first
  /// (shrink_placement). Of a small problem none is missed if the estimates are exact.
  std::vector<Plan> find(const Placement& placed, const std::optional<SegmentCosts>& costs, size_t most);

  /// Of what did not fit: which memory has too little room for what, and how much is needed at least.
  /// `is_given`: no other plan was to be tried.
  Error explain_failure(const Plan& placed, bool is_given) const;

 private:
  /// Appends those of the placements that fit, after at most so many that do not.
  void add_fitting(std::vector<Placement> placements, size_t most, size_t most_tries,
                   std::vector<Plan>& found);

  Result<std::vector<MemoryUse>> estimate_with_surplus(const Plan& plan) const;
  void note_surplus(const std::vector<MemoryUse>& estimated, const std::vector<MemoryUse>& measured);

  const PlanningProblem& problem_;
  const MemoryTools& tools_;
  const Replan& replan_;
  bool has_limits_;
  std::map<std::string, std::vector<MemoryUse>> known_;  // by plan (identify_plan)
  std::vector<uint64_t> surplus_;  // by memory, what plans needed beyond their estimates, in this search
};

/// The error that `plan` ("the program"), which needs this, exceeds a limit; none if it does not.
Status check_memory(const PlanningProblem& problem, const std::vector<MemoryUse>& uses,
                    const std::string& plan = "the program");

}  // namespace intarsia
