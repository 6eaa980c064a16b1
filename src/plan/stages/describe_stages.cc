#include "plan/stages/describe_stages.h"

#include <fmt/ranges.h>

namespace intarsia {

std::string describe_stages(const PlanningProblem& problem, const ChosenPlan& chosen) {
  if (chosen.stages.empty()) return "not divided\n";
  const std::vector<Region>& regions = chosen.plan.partition.regions;
  std::string text;
  for (uint32_t s = 0; s < chosen.stages.size(); ++s) {
    const ChosenStage& stage = chosen.stages[s];
    std::vector<size_t> members;
    for (size_t r = 0; r < regions.size(); ++r)
      if (regions[r].stage == s) members.push_back(r);
    text += fmt::format("stage {} on {} ({}): regions {}, {} frame{}\n", s, problem.slots[stage.slot].name,
                        fmt::join(stage.executors, ", "), fmt::join(members, " "), stage.frames,
                        stage.frames == 1 ? "" : "s");
  }
  return text;
}

}  // namespace intarsia
