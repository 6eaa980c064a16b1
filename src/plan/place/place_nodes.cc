#include "plan/place/place_nodes.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <optional>

#include "plan/place/unsupported_nodes.h"

namespace intarsia {
namespace {

std::string target_names(const std::vector<PlacementTarget>& targets) {
  std::vector<std::string> names;
  for (const PlacementTarget& target : targets) names.push_back(target.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Finds the target of a pin; for a pin to a slot ("@accel") it is the first backend there that takes the
/// node, else the first one. Returns nullopt if there is no such target.
std::optional<uint32_t> find_pinned(const Graph& graph, const std::vector<PlacementTarget>& targets,
                                    NodeId node, const std::string& pin) {
  std::optional<uint32_t> first;
  for (uint32_t t = 0; t < targets.size(); ++t) {
    const bool is_slot = pin.starts_with('@') && targets[t].name.ends_with(pin);
    if (targets[t].name != pin && !is_slot) continue;
    if (!is_slot || targets[t].backend->supports(graph, node, targets[t].device).yes) return t;
    if (!first) first = t;
  }
  return first;
}

/// Returns the index of the target that each node is pinned to, or no_target.
Result<std::vector<uint32_t>> match_pins(const Graph& graph, const std::vector<PlacementTarget>& targets,
                                         const std::vector<Pin>& pins) {
  std::vector<uint32_t> pinned(graph.nodes.size(), no_target);
  for (const Pin& pin : pins) {
    if (!find_pinned(graph, targets, NodeId{0}, pin.target))
      return fail("--pin {}={}: no such target; there are {}", pin.pattern, pin.target,
                  target_names(targets));
    bool matched = false;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      if (fnmatch(pin.pattern.c_str(), graph.nodes[i].name.c_str(), 0) != 0) continue;
      pinned[i] = *find_pinned(graph, targets, NodeId{i}, pin.target);
      matched = true;
    }
    if (!matched)
      return fail("--pin {}={}: no node's name matches; `intarsia explain --nodes` lists them", pin.pattern,
                  pin.target);
  }
  return pinned;
}

/// Answers of backends to whether they support a node. Each is asked once per node and device model, however
/// many slots it has.
class SupportTable {
 public:
  SupportTable(const Graph& graph, const std::vector<PlacementTarget>& targets)
      : graph_(graph), targets_(targets) {}

  const Support& of(NodeId node, uint32_t target) {
    if (node != node_) answers_.clear();
    node_ = node;
    const PlacementTarget& asked = targets_[target];
    auto [at, is_new] = answers_.try_emplace({asked.backend, asked.device.model()});
    if (is_new) at->second = asked.backend->supports(graph_, node, asked.device);
    return at->second;
  }

  std::string who_can(NodeId node) {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < targets_.size(); ++i) {
      if (of(node, i).yes) names.push_back(targets_[i].name);
    }
    return names.empty() ? "no backend can run it" : fmt::format("{} can run it", fmt::join(names, ", "));
  }

 private:
  const Graph& graph_;
  const std::vector<PlacementTarget>& targets_;
  NodeId node_ = no_node;
  std::map<std::pair<const Target*, std::string_view>, Support> answers_;
};

}  // namespace

Result<Placement> place_nodes(const Graph& graph, const std::vector<PlacementTarget>& targets,
                              const std::vector<Pin>& pins, const std::map<NodeId, uint32_t>& in_model,
                              const std::string& remedy) {
  const std::vector<uint32_t> pinned = TRY(match_pins(graph, targets, pins));
  Placement placement(std::vector<uint32_t>(graph.nodes.size(), no_target));
  SupportTable support(graph, targets);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id{i};
    PlacedNode& node = placement[id];
    if (pinned[i] != no_target) {
      if (const Support& answer = support.of(id, pinned[i]); !answer.yes) {
        return fail("--pin: node '{}' ({}) cannot run on {}: {}; {}", graph.nodes[i].name, graph.nodes[i].op,
                    targets[pinned[i]].name, answer.because, support.who_can(id));
      }
      node.target = pinned[i];
      node.reason = "pinned by the user";
      node.pinned = true;
      continue;
    }
    if (const auto held = in_model.find(id); held != in_model.end()) {
      node.target = held->second;
      node.reason = "pinned in the model";
      node.pinned = true;
      continue;
    }
    for (uint32_t t = 0; t < targets.size() && node.target == no_target; ++t) {
      if (targets[t].takes_only_pinned) continue;
      const Support& answer = support.of(id, t);
      if (answer.yes) {
        node.target = t;
        node.reason = node.refusals.empty() ? "first choice" : "first that supports it";
      } else if (!answer.because.empty() && (t == 0 || targets[t].backend != targets[t - 1].backend)) {
        node.refusals.push_back(targets[t].backend->name() + ": " + answer.because);
      }
    }
  }
  if (std::ranges::find(placement.nodes, no_target, &PlacedNode::target) != placement.nodes.end())
    return unsupported_error(graph, placement, remedy);
  return placement;
}

}  // namespace intarsia
