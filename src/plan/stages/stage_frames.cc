#include "plan/stages/stage_frames.h"

#include <algorithm>

namespace intarsia {
namespace {

uint32_t queues_of(const PlanningProblem& problem, uint32_t space) {
  return std::ranges::find(problem.slots, space, &DeviceSlot::space)->queues;
}

/// Returns the only memory that the regions of each stage are in; the host's if there are several.
std::vector<uint32_t> find_memories(const PlanningProblem& problem, const Plan& plan, size_t stages) {
  std::vector<std::optional<uint32_t>> memories(stages);
  for (const Region& region : plan.partition.regions) {
    std::optional<uint32_t>& memory = memories[region.stage];
    const uint32_t space = problem.space_of_target[region.target];
    memory = memory.value_or(space) == space ? space : host_memory;
  }
  std::vector<uint32_t> found;
  for (const std::optional<uint32_t>& memory : memories) found.push_back(memory.value_or(host_memory));
  return found;
}

}  // namespace

void set_frames(const PlanningProblem& problem, const Plan& plan, const std::vector<StageMemory>& memory,
                std::vector<ChosenStage>& stages) {
  if (stages.empty()) return;
  const std::vector<uint32_t> memories = find_memories(problem, plan, stages.size());
  for (size_t i = 0; i < stages.size(); ++i) {
    const bool has_spare = memories[i] != host_memory && memory[memories[i]].has_spare_frame;
    stages[i].frames = has_spare ? queues_of(problem, memories[i]) + 1 : 1;
  }
}

Result<std::vector<StageMemory>> find_frame_memory(const PlanningProblem& problem, const MemoryTools& tools,
                                                   const Plan& plan, std::vector<ChosenStage> stages) {
  std::vector<StageMemory> memory(problem.spaces.size());
  if (!tools.measure_stages) return memory;
  set_frames(problem, plan, memory, stages);
  const std::vector<MemoryUse> uses = TRY(tools.measure_stages(plan, stages));
  for (uint32_t space = 0; space < memory.size(); ++space)
    memory[space].has_spare_frame = uses[space].total() <= problem.memory_limit(space);
  return memory;
}

}  // namespace intarsia
