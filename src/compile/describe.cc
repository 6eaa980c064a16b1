#include "compile/describe.h"

#include <algorithm>

#include "program/program.h"

namespace intarsia {

std::string memory_name(const CompileResult& result, uint32_t memory) {
  if (memory != host_slot) return result.slots[memory].name;
  return std::ranges::find_if(result.slots, [](const DeviceSlot& slot) { return is_host_kind(slot.kind); })
      ->name;
}

std::string describe_placement(const CompileResult& result) {
  std::string text;
  for (size_t i = 0; i < result.graph.nodes.size(); ++i) {
    const Node& node = result.graph.nodes[i];
    text += fmt::format("{} ({}): {}, {}", node.name, node.op,
                        result.targets[result.placement.target[i]].name, result.placement.reason[i]);
    if (!result.placement.refusals[i].empty())
      text += fmt::format(" [{}]", fmt::join(result.placement.refusals[i], "; "));
    text += '\n';
  }
  return text;
}

std::string describe_partition(const CompileResult& result) {
  std::string text;
  for (size_t r = 0; r < result.partition.regions.size(); ++r) {
    const Region& region = result.partition.regions[r];
    text += fmt::format("region {} {}: {} nodes, '{}' ... '{}'\n", r, result.targets[region.target].name,
                        region.nodes.size(), result.graph.node(region.nodes.front()).name,
                        result.graph.node(region.nodes.back()).name);
  }
  return text;
}

std::string describe_steps(const CompileResult& result) {
  std::string text;
  for (const ScheduleStep& step : result.steps) {
    if (step.kind == ScheduleStep::Kind::run) {
      text += fmt::format("run {} {}\n", step.region,
                          result.targets[result.partition.regions[step.region].target].name);
    } else {
      text += fmt::format("copy {} {} -> {}\n", result.graph.value(step.from.value).name,
                          memory_name(result, step.from.slot), memory_name(result, step.to.slot));
    }
  }
  return text;
}

}  // namespace intarsia
