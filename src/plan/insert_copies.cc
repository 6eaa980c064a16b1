#include "plan/insert_copies.h"

#include <algorithm>
#include <unordered_set>

namespace intarsia {

std::vector<RegionBoundary> find_boundaries(const Graph& graph, const Partition& partition) {
  std::vector<RegionBoundary> boundaries(partition.regions.size());
  const std::vector<std::vector<NodeId>> readers = find_readers(graph);
  std::vector<bool> is_output(graph.values.size(), false);
  for (ValueId output : graph.outputs) is_output[index(output)] = true;
  for (uint32_t r = 0; r < partition.regions.size(); ++r) {
    std::unordered_set<size_t> seen;
    for (NodeId node : partition.regions[r].nodes) {
      for (ValueId read : values_read(graph.node(node))) {
        const Value& value = graph.value(read);
        const bool inside = value.producer != no_node && partition.region_of[index(value.producer)] == r;
        if (!inside && !value.constant && seen.insert(index(read)).second)
          boundaries[r].inputs.push_back(read);
      }
      for (ValueId output : graph.node(node).outputs) {
        if (output == no_value) continue;
        const bool read_outside = std::ranges::any_of(
            readers[index(output)], [&](NodeId reader) { return partition.region_of[index(reader)] != r; });
        if (read_outside || is_output[index(output)]) boundaries[r].outputs.push_back(output);
      }
    }
  }
  return boundaries;
}

StepList insert_copies(const Graph& graph, const Partition& partition,
                       const std::vector<RegionBoundary>& boundaries,
                       const std::vector<uint32_t>& memory_of_target) {
  std::vector<uint32_t> home(graph.values.size(), host_slot);
  StepList steps;
  const auto copy_to = [&](ValueId value, uint32_t slot) {
    if (home[index(value)] == slot) return;
    steps.push_back({ScheduleStep::Kind::copy, 0, {value, home[index(value)]}, {value, slot}});
  };
  for (uint32_t r = 0; r < partition.regions.size(); ++r) {
    const uint32_t memory = memory_of_target[partition.regions[r].target];
    for (ValueId input : boundaries[r].inputs) copy_to(input, memory);
    steps.push_back({ScheduleStep::Kind::run, r, {}, {}});
    for (ValueId output : boundaries[r].outputs) home[index(output)] = memory;
  }
  for (ValueId output : graph.outputs) {
    if (!graph.value(output).constant) copy_to(output, host_slot);
  }
  return steps;
}

}  // namespace intarsia
