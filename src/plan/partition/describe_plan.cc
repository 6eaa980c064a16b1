#include "plan/partition/describe_plan.h"

#include <fmt/ranges.h>

#include <set>

namespace intarsia {

std::string describe_placement(const PlanningProblem& problem, const Placement& placement) {
  std::string text;
  for (size_t i = 0; i < problem.graph.nodes.size(); ++i) {
    const Node& node = problem.graph.nodes[i];
    text += fmt::format("{} ({}): {}, {}", node.name, node.op,
                        problem.targets[placement.nodes[i].target].name, placement.nodes[i].reason);
    if (!placement.nodes[i].refusals.empty())
      text += fmt::format(" [{}]", fmt::join(placement.nodes[i].refusals, "; "));
    text += '\n';
  }
  return text;
}

std::string describe_partition(const PlanningProblem& problem, const Partition& partition) {
  std::string text;
  for (size_t r = 0; r < partition.regions.size(); ++r) {
    const Region& region = partition.regions[r];
    text += fmt::format("region {} {}: {} nodes, '{}' ... '{}'\n", r, problem.targets[region.target].name,
                        region.nodes.size(), problem.graph.node(region.nodes.front()).name,
                        problem.graph.node(region.nodes.back()).name);
  }
  for (const auto& [value, order] : partition.layouts)
    text += fmt::format("layout of {}: axes {}\n", problem.graph.value(value).name, fmt::join(order, ", "));
  return text;
}

std::string describe_steps(const PlanningProblem& problem, const Partition& partition,
                           const StepList& steps) {
  std::string text;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::run) {
      text += fmt::format("run {} {}\n", step.region,
                          problem.targets[partition.regions[step.region].target].name);
    } else {
      text += fmt::format("copy {} {} -> {}\n", problem.graph.value(step.from.value).name,
                          problem.spaces[step.from.space], problem.spaces[step.to.space]);
    }
  }
  return text;
}

std::string targets_of(const PlanningProblem& problem, const Partition& partition) {
  std::set<std::string> targets;
  for (const Region& region : partition.regions) targets.insert(problem.targets[region.target].name);
  return fmt::format("{}", fmt::join(targets, " + "));
}

std::string identify_plan(const PlanningProblem& problem, const Partition& partition) {
  std::string text;
  for (const DeviceSlot& slot : problem.slots) text += fmt::format("slot {} {}\n", slot.name, slot.device);
  std::set<uint32_t> used;
  for (const Region& region : partition.regions) {
    used.insert(region.target);
    text += problem.targets[region.target].name;
    for (NodeId node : region.nodes) text += fmt::format(" {}", index(node));
    text += "\n";
  }
  for (uint32_t target : used) {
    const Target& backend = *problem.targets[target].backend;
    text += fmt::format("{} {} {}\n", problem.targets[target].name, backend.version(),
                        backend.info().code_generation);
  }
  return text;
}

}  // namespace intarsia
