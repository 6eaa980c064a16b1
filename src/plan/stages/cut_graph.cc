#include "plan/stages/cut_graph.h"

#include <algorithm>

namespace intarsia {
namespace {

struct Cut {
  std::string name;
  NodeId producer = no_node;
};

Result<Cut> find_cut(const Graph& graph, const std::string& name) {
  const auto value = std::ranges::find(graph.values, name, &Value::name);
  if (value == graph.values.end())
    return fail(
        "--cut {}: the model has no such value (after constants were folded); `intarsia explain --json` "
        "lists "
        "what each node makes under \"outputs\"",
        name);
  if (value->producer == no_node)
    return fail("--cut {}: it is {} of the model, which no node makes, so that the stage before it is empty",
                name, value->constant ? "a constant" : "an input");
  return Cut{name, value->producer};
}

/// Finds the cuts, in the order in which their values are made.
Result<std::vector<Cut>> find_cuts(const Graph& graph, const std::vector<std::string>& values) {
  std::vector<Cut> cuts;
  for (const std::string& name : values) cuts.push_back(TRY(find_cut(graph, name)));
  std::ranges::stable_sort(cuts, {}, &Cut::producer);
  return cuts;
}

/// Gives the stage to the node and to every node it depends on that has none. Returns the number of these
/// nodes.
size_t take_all_before(const Graph& graph, NodeId last, uint32_t stage, uint32_t none,
                       std::vector<uint32_t>& stage_of) {
  size_t taken = 0;
  for (std::vector<NodeId> stack = {last}; !stack.empty();) {
    const NodeId node = stack.back();
    stack.pop_back();
    if (stage_of[index(node)] != none) continue;
    stage_of[index(node)] = stage;
    ++taken;
    for (ValueId read : values_read(graph.node(node)))
      if (graph.value(read).producer != no_node) stack.push_back(graph.value(read).producer);
  }
  return taken;
}

}  // namespace

Result<std::vector<uint32_t>> cut_graph(const Graph& graph, const std::vector<std::string>& values) {
  const std::vector<Cut> cuts = TRY(find_cuts(graph, values));
  const auto last = static_cast<uint32_t>(cuts.size());
  std::vector<uint32_t> stage_of(graph.nodes.size(), last);
  size_t left = graph.nodes.size();
  for (uint32_t stage = 0; stage < last; ++stage) {
    const size_t taken = take_all_before(graph, cuts[stage].producer, stage, last, stage_of);
    if (taken == 0)
      return fail("--cut {}: it cuts nothing off: all before it is before --cut {}, too", cuts[stage].name,
                  cuts[stage - 1].name);
    left -= taken;
  }
  if (left == 0)
    return fail("--cut {}: it cuts nothing off: every node is before it, so that the stage after it is empty",
                cuts.back().name);
  return stage_of;
}

Status verify_stage_order(const Graph& graph, const Placement& placement) {
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const uint32_t stage = placement.nodes[i].stage, group = placement.nodes[i].group;
    if (placement.nodes[group].stage != stage)
      return fail(
          "nodes '{}' and '{}' are in the stages {} and {}, but pass values that only one region can hold: "
          "cut "
          "before or after both",
          graph.nodes[group].name, graph.nodes[i].name, placement.nodes[group].stage + 1, stage + 1);
    for (ValueId read : values_read(graph.nodes[i])) {
      const NodeId producer = graph.value(read).producer;
      if (producer != no_node && placement[producer].stage > stage)
        return fail("stage {} reads '{}', which the later stage {} makes", stage + 1, graph.value(read).name,
                    placement[producer].stage + 1);
    }
  }
  return {};
}

uint32_t count_stages(const Placement& placement) {
  return placement.is_staged ? 1 + std::ranges::max(placement.stages()) : 1;
}

}  // namespace intarsia
