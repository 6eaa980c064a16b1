#include "plan/stages/stage_steps.h"

#include <algorithm>
#include <set>

#include "plan/partition/elide_copies.h"
#include "plan/partition/insert_copies.h"

namespace intarsia {
namespace {

/// Returns the regions of each stage.
std::vector<std::vector<uint32_t>> regions_by_stage(const Partition& partition) {
  std::vector<std::vector<uint32_t>> regions;
  for (uint32_t r = 0; r < partition.regions.size(); ++r) {
    const uint32_t stage = partition.regions[r].stage;
    if (regions.size() <= stage) regions.resize(stage + 1);
    regions[stage].push_back(r);
  }
  return regions;
}

/// Values that pass into each stage, and out of it.
struct StageBoundaries {
  std::vector<std::set<ValueId>> inputs, outputs;
};

StageBoundaries find_stage_boundaries(const Graph& graph, const Partition& partition, size_t stages) {
  StageBoundaries found{std::vector<std::set<ValueId>>(stages), std::vector<std::set<ValueId>>(stages)};
  const auto maker_of = [&](ValueId value) {
    return partition.regions[partition.region_of[index(graph.value(value).producer)]].stage;
  };
  for (uint32_t r = 0; r < partition.regions.size(); ++r) {
    const uint32_t stage = partition.regions[r].stage;
    for (ValueId input : partition.boundaries[r].inputs) {
      const bool is_made = graph.value(input).producer != no_node;
      if (is_made && maker_of(input) == stage) continue;
      found.inputs[stage].insert(input);
      if (is_made) found.outputs[maker_of(input)].insert(input);
    }
  }
  for (ValueId output : graph.outputs) {
    const bool is_made = graph.value(output).producer != no_node;
    found.outputs[is_made ? maker_of(output) : 0].insert(output);
    if (!is_made && !graph.value(output).constant) found.inputs[0].insert(output);
  }
  return found;
}

}  // namespace

std::vector<StageSteps> list_stages(const Graph& graph, const Partition& partition,
                                    const std::vector<uint32_t>& space_of_target) {
  const std::vector<std::vector<uint32_t>> regions = regions_by_stage(partition);
  const StageBoundaries boundaries = find_stage_boundaries(graph, partition, regions.size());
  std::vector<StageSteps> stages;
  for (size_t s = 0; s < regions.size(); ++s) {
    StageSteps stage{{boundaries.inputs[s].begin(), boundaries.inputs[s].end()},
                     {boundaries.outputs[s].begin(), boundaries.outputs[s].end()},
                     {}};
    stage.steps = elide_copies(insert_copies(graph, partition, space_of_target, regions[s], stage.outputs));
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace intarsia
