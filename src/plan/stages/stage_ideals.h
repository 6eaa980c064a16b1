// Exact stages of any shape: over all sets of nodes that a pipeline may have done.
#pragma once

#include <optional>

#include "plan/stages/stage_problem.h"

namespace intarsia {

/// Limits of what is enumerated.
struct IdealsEffort {
  size_t ideals = 60'000;       // sets of nodes that contain what their nodes depend on
  size_t stages = 100'000'000;  // pairs of ideals that one stage lies between
};

/// Finds the split with the smallest load, by dynamic programming over ideals (Tarnawski et al., 2020,
/// section 4). Considers only splits of less than `most` load; `stages` is empty if there are none. Returns
/// nullopt if the search would take more than the effort.
std::optional<StageSplit> split_ideals(const StageProblem& problem, double most,
                                       const IdealsEffort& effort = {});

}  // namespace intarsia
