#include "plan/stage_problem.h"

#include <algorithm>

#include "plan/stage_graph.h"

namespace intarsia {

Status verify_stage_problem(const StageProblem& problem) {
  const size_t nodes = problem.nodes.size();
  if (problem.devices.empty()) return fail("there is no device");
  for (const StageDevices& devices : problem.devices)
    if (devices.count == 0) return fail("there are no devices of the kind '{}'", devices.name);
  const auto is_node = [&](uint32_t node) { return node < nodes; };
  for (size_t i = 0; i < nodes; ++i) {
    const StageNode& node = problem.nodes[i];
    if (node.time.size() != problem.devices.size())
      return fail("node {} has {} times, want one for each of {} kinds of devices", i, node.time.size(),
                  problem.devices.size());
    const auto is_time = [](double time) { return time >= 0; };
    if (!std::ranges::all_of(node.time, is_time) || !(node.bytes >= 0))
      return fail("node {} has a time or a size that is negative or no number", i);
    if (std::ranges::min(node.time) == cannot_run) return fail("node {} can run on no kind of device", i);
  }
  for (const StageValue& value : problem.values) {
    if (!is_node(value.producer) || !std::ranges::all_of(value.consumers, is_node))
      return fail("a value is of a node that is not there");
    if (!(value.transfer >= 0)) return fail("a transfer takes a time that is negative or no number");
  }
  for (const auto& group : problem.together)
    if (!std::ranges::all_of(group, is_node)) return fail("a node that is not there is to be with others");
  if (!order_nodes(problem)) return fail("the nodes depend on each other in a cycle");
  return {};
}

double stage_load(const StageProblem& problem, uint32_t kind, const std::vector<uint32_t>& nodes) {
  std::vector<char> is_here(problem.nodes.size());
  double load = 0, bytes = 0;
  for (uint32_t node : nodes) {
    is_here[node] = 1;
    load += problem.nodes[node].time[kind];
    bytes += problem.nodes[node].bytes;
  }
  if (bytes > problem.devices[kind].memory) return cannot_run;
  if (!problem.devices[kind].pays_transfers) return load;
  for (const StageValue& value : problem.values) {
    const auto is_local = [&](uint32_t node) { return is_here[node] == is_here[value.producer]; };
    if (!std::ranges::all_of(value.consumers, is_local)) load += value.transfer;
  }
  return load;
}

}  // namespace intarsia
