#include "compile/annotated_pins.h"

#include <optional>

namespace intarsia {
namespace {

/// Of a node "block#2/conv" of an inlined function, the call.
std::string name_of_call(const std::string& node) { return node.substr(0, node.find('#')); }

bool names_place(const PlanningProblem& problem, const std::string& place, const PlacementTarget& target) {
  const std::string& slot = problem.slots[target.slot].name;
  return place == target.name || place == slot || place == "@" + slot;
}

/// Nothing: the place is none of ours.
Result<std::optional<uint32_t>> find_target(const PlanningProblem& problem, NodeId node,
                                            const std::string& place) {
  bool is_known = false;
  for (uint32_t t = 0; t < problem.targets.size(); ++t) {
    const PlacementTarget& target = problem.targets[t];
    if (!names_place(problem, place, target)) continue;
    if (target.backend->supports(problem.graph, node, target.device).yes) return t;
    is_known = true;
  }
  if (!is_known) return std::nullopt;
  return fail(ErrorKind::unsupported,
              "node '{}' ({}): the model's metadata wants it on '{}', where no backend takes it; remove that "
              "entry, or allow more backends",
              problem.graph.node(node).name, problem.graph.node(node).op, place);
}

}  // namespace

Result<std::map<NodeId, uint32_t>> pin_annotated(const PlanningProblem& problem,
                                                 const std::map<std::string, std::string>& annotations) {
  std::map<NodeId, uint32_t> pinned;
  if (annotations.empty()) return pinned;
  for (uint32_t i = 0; i < problem.graph.nodes.size(); ++i) {
    const std::string& name = problem.graph.nodes[i].name;
    auto place = annotations.find(name);
    if (place == annotations.end()) place = annotations.find(name_of_call(name));
    if (place == annotations.end()) continue;
    if (const auto target = TRY(find_target(problem, NodeId{i}, place->second))) pinned[NodeId{i}] = *target;
  }
  return pinned;
}

}  // namespace intarsia
