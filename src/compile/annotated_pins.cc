#include "compile/annotated_pins.h"

#include <optional>

namespace intarsia {
namespace {

/// Returns the place annotated for the node itself, else for the function call it was inlined from: "block"
/// for a node "block#2/conv". Returns null if there is none.
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

/// Finds the first target at the place that supports the node; nullopt if this compile has no such place.
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

Result<AnnotatedPins> pin_annotated(const PlanningProblem& problem, const Annotations& annotations) {
  AnnotatedPins pinned;
  std::map<std::string, std::vector<std::string>> unknown;  // nodes, by place
  for (uint32_t i = 0; i < problem.graph.nodes.size(); ++i) {
    const Node& node = problem.graph.nodes[i];
    const std::string* place = find_place(problem.graph, node, annotations);
    if (place == nullptr) continue;
    if (const auto target = TRY(find_target(problem, NodeId{i}, *place)))
      pinned.pins[NodeId{i}] = *target;
    else
      unknown[*place].push_back(node.name);
  }
  for (const auto& [place, nodes] : unknown)
    pinned.unknown.push_back(fmt::format("'{}' ({} node{}, first '{}')", place, nodes.size(),
                                         nodes.size() == 1 ? "" : "s", nodes[0]));
  return pinned;
}

}  // namespace intarsia
