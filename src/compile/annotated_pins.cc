#include "compile/annotated_pins.h"

#include <optional>

namespace intarsia {
namespace {

/// Where the node itself is wanted, else the call of the function that it is inlined from: "block" for a node
/// "block#2/conv". Null: nowhere.
const std::string* find_place(const Graph& graph, const Node& node, const Annotations& annotations) {
  for (ValueId output : node.outputs) {
    if (output == no_value) continue;
    const auto place = annotations.by_output.find(graph.value(output).name);
    if (place != annotations.by_output.end()) return &place->second;
  }
  for (size_t at = node.name.find('#'); at != std::string::npos; at = node.name.find('#', at + 1)) {
    const auto place = annotations.by_name.find(node.name.substr(0, at));
    if (place != annotations.by_name.end()) return &place->second;
  }
  return nullptr;
}

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
                                                 const Annotations& annotations) {
  std::map<NodeId, uint32_t> pinned;
  for (uint32_t i = 0; i < problem.graph.nodes.size(); ++i) {
    const std::string* place = find_place(problem.graph, problem.graph.nodes[i], annotations);
    if (place == nullptr) continue;
    if (const auto target = TRY(find_target(problem, NodeId{i}, *place))) pinned[NodeId{i}] = *target;
  }
  return pinned;
}

}  // namespace intarsia
