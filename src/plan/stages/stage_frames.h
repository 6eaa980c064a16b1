// Numbers of frames that stages have at a time.
#pragma once

#include "plan/chosen_stage.h"
#include "plan/memory_use.h"
#include "plan/stages/stage_costs.h"

namespace intarsia {

/// Sets the frames of each stage. A stage whose regions are all in one device's memory has as many as the
/// device runs at once, and one whose values are copied meanwhile, if that memory has a spare frame; others
/// have one. `memory` is indexed by memory space.
void set_frames(const PlanningProblem& problem, const Plan& plan, const std::vector<StageMemory>& memory,
                std::vector<ChosenStage>& stages);

/// Finds, for each memory space, whether its limit allows a spare frame to these stages. Error: memory cannot
/// be measured.
Result<std::vector<StageMemory>> find_frame_memory(const PlanningProblem& problem, const MemoryTools& tools,
                                                   const Plan& plan, std::vector<ChosenStage> stages);

}  // namespace intarsia
