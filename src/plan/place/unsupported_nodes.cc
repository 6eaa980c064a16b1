#include "plan/place/unsupported_nodes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "graph/op_table.h"

namespace intarsia {
namespace {

/// Nodes that read a value of unknown type that comes from a node without a backend. Nodes with an unknown
/// operator are not among them: they lack a backend in any case.
class FollowingNodes {
 public:
  FollowingNodes(const Graph& graph, const std::vector<bool>& is_unsupported)
      : graph_(graph), follows_(graph.nodes.size()), is_from_unsupported_(graph.values.size()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      const bool reads = reads_from_unsupported(node);
      follows_[i] = reads && is_known(node);
      for (ValueId output : node.outputs) {
        if (output != no_value && (reads || is_unsupported[i]))
          is_from_unsupported_[index(output)] = !has_known_type(graph.value(output));
      }
    }
  }

  bool has(size_t node) const { return follows_[node]; }

 private:
  static bool has_known_type(const Value& value) {
    return value.type.opaque || (value.type.dtype != DType::undefined && value.type.fixed_shape());
  }

  static bool is_known(const Node& node) { return node.domain == "tensorflow" || find_op(node) != nullptr; }

  bool reads_from_unsupported(const Node& node) const {
    const auto is_from = [&](ValueId value) {
      return value != no_value && is_from_unsupported_[index(value)];
    };
    return std::ranges::any_of(node.inputs, is_from) || std::ranges::any_of(node.captures, is_from);
  }

  const Graph& graph_;
  std::vector<bool> follows_;              // indexed by node
  std::vector<bool> is_from_unsupported_;  // indexed by value
};

/// Nodes of one operator.
struct OpGroup {
  std::string op;
  size_t count = 0;
  size_t first = 0;
};

void count(std::vector<OpGroup>& groups, const Node& node, size_t number) {
  const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
  const auto known = std::ranges::find(groups, op, &OpGroup::op);
  if (known == groups.end())
    groups.push_back({op, 1, number});
  else
    ++known->count;
}

std::string count_nodes(const OpGroup& group) {
  return fmt::format("{} node{}", group.count, group.count == 1 ? "" : "s");
}

}  // namespace

tl::unexpected<Error> unsupported_error(const Graph& graph, const Placement& placement,
                                        const std::string& remedy) {
  std::vector<bool> is_unsupported;
  for (const PlacedNode& node : placement.nodes) is_unsupported.push_back(node.target == no_target);
  const FollowingNodes following(graph, is_unsupported);
  std::vector<OpGroup> lacking, others;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (is_unsupported[i]) count(following.has(i) ? others : lacking, graph.nodes[i], i);
  }
  std::vector<std::string> first, after;
  for (const OpGroup& group : lacking)
    first.push_back(fmt::format("{} ({}, first '{}': {})", group.op, count_nodes(group),
                                graph.nodes[group.first].name,
                                fmt::join(placement.nodes[group.first].refusals, "; ")));
  for (const OpGroup& group : others) after.push_back(fmt::format("{} ({})", group.op, count_nodes(group)));
  return fail(ErrorKind::unsupported, "no backend runs these operators: {}{}. {}", fmt::join(first, ", "),
              after.empty() ? ""
                            : fmt::format("; nor those after them, while types or sizes are not known: {}",
                                          fmt::join(after, ", ")),
              remedy);
}

}  // namespace intarsia
