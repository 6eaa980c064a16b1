#include "plan/partition/insert_copies.h"

#include <algorithm>
#include <numeric>

namespace intarsia {
namespace {

/// Returns the values that the region reads, in the order in which they are made.
std::vector<ValueId> in_order_of_makers(const Graph& graph, const Partition& partition, uint32_t region) {
  std::vector<ValueId> inputs = partition.boundaries[region].inputs;
  std::ranges::stable_sort(inputs, {}, [&](ValueId input) {
    const NodeId producer = graph.value(input).producer;
    return producer == no_node ? 0 : 1 + partition.region_of[index(producer)];
  });
  return inputs;
}

}  // namespace

StepList insert_copies(const Graph& graph, const Partition& partition,
                       const std::vector<uint32_t>& space_of_target) {
  std::vector<uint32_t> all(partition.regions.size());
  std::iota(all.begin(), all.end(), 0u);
  return insert_copies(graph, partition, space_of_target, all, graph.outputs);
}

StepList insert_copies(const Graph& graph, const Partition& partition,
                       const std::vector<uint32_t>& space_of_target, std::span<const uint32_t> regions,
                       const std::vector<ValueId>& outputs) {
  std::vector<uint32_t> home(graph.values.size(), host_memory);
  StepList steps;
  const auto copy_to = [&](ValueId value, uint32_t space) {
    if (home[index(value)] == space) return;
    steps.push_back({Step::Kind::copy, 0, {value, home[index(value)]}, {value, space}});
  };
  for (uint32_t r : regions) {
    const uint32_t memory = space_of_target[partition.regions[r].target];
    for (ValueId input : in_order_of_makers(graph, partition, r)) copy_to(input, memory);
    steps.push_back({Step::Kind::run, r, {}, {}});
    for (ValueId output : partition.boundaries[r].outputs) home[index(output)] = memory;
  }
  for (uint32_t r : regions)
    for (ValueId output : partition.boundaries[r].outputs)
      if (std::ranges::find(outputs, output) != outputs.end()) copy_to(output, host_memory);
  return steps;
}

}  // namespace intarsia
