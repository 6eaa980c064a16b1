#include "plan/partition/group_opaque_values.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "plan/partition/directed_graph.h"

namespace intarsia {
namespace {

/// Value that must not leave its framework, from the node that produces it to one that reads it.
struct OpaqueEdge {
  uint32_t producer, reader;
  ValueId value;
};

/// Nodes that belong in one region, and why.
struct OpaqueGroup {
  std::vector<uint32_t> nodes;  // ascending
  std::vector<OpaqueEdge> edges;
};

Neighbors find_reading_nodes(const Graph& graph) {
  Neighbors next(graph.nodes.size());
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId read : values_read(graph.nodes[i])) {
      const NodeId producer = graph.value(read).producer;
      if (producer == no_node) continue;
      std::vector<uint32_t>& readers = next[index(producer)];
      if (readers.empty() || readers.back() != i) readers.push_back(i);
    }
  }
  return next;
}

/// Paths between the nodes of groups.
class GroupPaths {
 public:
  explicit GroupPaths(const Graph& graph)
      : next_(find_reading_nodes(graph)), previous_(reverse_edges(next_)) {}

  /// Returns the nodes that read what each node makes.
  const Neighbors& next() const { return next_; }

  /// Returns, by node, the edge of the group that starts at the node or before it and ends farthest from it.
  std::unordered_map<uint32_t, const OpaqueEdge*> farthest_edges(const OpaqueGroup& opaque) const {
    std::unordered_map<uint32_t, const OpaqueEdge*> farthest;
    const auto extend = [&](uint32_t node, const OpaqueEdge* edge) {
      const OpaqueEdge*& known = farthest.try_emplace(node, edge).first->second;
      if (known->reader < edge->reader) known = edge;
    };
    for (const OpaqueEdge& edge : opaque.edges) extend(edge.producer, &edge);
    for (uint32_t node : opaque.nodes) {
      for (uint32_t before : previous_[node]) {
        if (const auto at = farthest.find(before); at != farthest.end()) extend(node, at->second);
      }
    }
    return farthest;
  }

  /// Returns the edges with a refused node in between or, without any, those that are read after one, since
  /// every cycle through it has such an edge.
  std::vector<OpaqueEdge> choose_to_open(const OpaqueGroup& opaque, const std::vector<OpaqueEdge>& handed,
                                         const std::vector<uint32_t>& refused) const {
    if (std::vector<OpaqueEdge> through = edges_through(opaque, handed, refused); !through.empty())
      return through;
    const std::set<uint32_t> reached = reach(opaque, refused, next_);
    std::vector<OpaqueEdge> read_after;
    std::ranges::copy_if(handed, std::back_inserter(read_after),
                         [&](const OpaqueEdge& edge) { return reached.contains(edge.reader); });
    return read_after.empty() ? handed : read_after;
  }

  /// Returns an edge with a path from its producer to its reader through the nodes; any edge of the group if
  /// only all edges together hold them.
  OpaqueEdge edge_through(const OpaqueGroup& opaque, const std::vector<uint32_t>& nodes) const {
    const std::vector<OpaqueEdge> through = edges_through(opaque, opaque.edges, nodes);
    return through.empty() ? opaque.edges[0] : through[0];
  }

 private:
  /// Returns the edges with a path from the producer to one of the nodes, and from one of them to the reader.
  std::vector<OpaqueEdge> edges_through(const OpaqueGroup& opaque, std::vector<OpaqueEdge> edges,
                                        const std::vector<uint32_t>& nodes) const {
    const std::set<uint32_t> after = reach(opaque, nodes, next_), before = reach(opaque, nodes, previous_);
    std::erase_if(edges, [&](const OpaqueEdge& edge) {
      return !before.contains(edge.producer) || !after.contains(edge.reader);
    });
    return edges;
  }

  std::set<uint32_t> reach(const OpaqueGroup& opaque, const std::vector<uint32_t>& from,
                           const Neighbors& neighbors) const {
    std::set<uint32_t> seen(from.begin(), from.end());
    for (std::vector<uint32_t> stack = from; !stack.empty();) {
      const uint32_t at = stack.back();
      stack.pop_back();
      for (uint32_t to : neighbors[at]) {
        if (std::ranges::binary_search(opaque.nodes, to) && seen.insert(to).second) stack.push_back(to);
      }
    }
    return seen;
  }

  const Neighbors next_, previous_;
};

class OpaqueGrouper {
 public:
  OpaqueGrouper(const Graph& graph, const std::vector<PlacementTarget>& targets, Placement& placement)
      : graph_(graph), targets_(targets), placement_(placement), as_placed_(placement), paths_(graph) {}

  Status run() {
    while (TRY(close_groups())) {
    }
    for (const auto& [edge, why] : opened_) placement_.nodes[edge.second].reason += why;
    return {};
  }

 private:
  /// Runs one round. Returns true if it changed something, so that there may be more to do.
  Result<bool> close_groups() {
    bool moved = false, opened = false;
    for (const OpaqueGroup& opaque : find_opaque_groups()) {
      const uint32_t target = placement_.nodes[opaque.edges[0].producer].target;
      const std::vector<uint32_t> refused = TRY(find_refused(opaque, target));
      if (refused.empty()) {
        moved |= move(opaque, target);
      } else {
        TRY(open(opaque, refused, target));
        opened = true;
      }
    }
    if (opened) placement_ = as_placed_;  // keeps no node moved for the sake of an open group
    return moved || opened;
  }

  /// Finds the groups. A path back from every reader to the producer makes a cycle of all nodes in between:
  /// groups are strong components.
  std::vector<OpaqueGroup> find_opaque_groups() {
    const std::vector<OpaqueEdge> edges = find_edges();
    placement_.leave_groups();
    if (edges.empty()) return {};
    Neighbors cyclic = paths_.next();
    for (const OpaqueEdge& edge : edges) cyclic[edge.reader].push_back(edge.producer);
    const std::vector<uint32_t> group_of = strong_components(cyclic);
    std::map<uint32_t, OpaqueGroup> groups;
    for (const OpaqueEdge& edge : edges) groups[group_of[edge.reader]].edges.push_back(edge);
    for (uint32_t i = 0; i < group_of.size(); ++i) {
      placement_.nodes[i].group = group_of[i];
      if (const auto opaque = groups.find(group_of[i]); opaque != groups.end())
        opaque->second.nodes.push_back(i);
    }
    std::vector<OpaqueGroup> list;
    for (auto& [group, opaque] : groups) list.push_back(std::move(opaque));
    return list;
  }

  std::vector<OpaqueEdge> find_edges() const {
    std::vector<OpaqueEdge> edges;
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!targets_[placement_.nodes[i].target].backend->info().needs_framework) continue;
      for (ValueId read : values_read(graph_.nodes[i])) {
        const Value& value = graph_.value(read);
        if (value.producer == no_node || !is_opaque(value.type) || opened_.contains({read, i})) continue;
        const auto producer = static_cast<uint32_t>(index(value.producer));
        if (placement_.nodes[producer].target == placement_.nodes[i].target)
          edges.push_back({producer, i, read});
      }
    }
    return edges;
  }

  /// Finds the nodes of the group that cannot move to the target. Error: one of them is pinned.
  Result<std::vector<uint32_t>> find_refused(const OpaqueGroup& opaque, uint32_t target) const {
    std::vector<uint32_t> refused;
    for (uint32_t node : opaque.nodes) {
      if (placement_.nodes[node].target == target) continue;
      if (placement_.nodes[node].pinned)
        return impossible(opaque, node, target,
                          fmt::format("is pinned to {}", targets_[placement_.nodes[node].target].name));
      if (!targets_[target].backend->supports(graph_, NodeId{node}, targets_[target].device).yes)
        refused.push_back(node);
    }
    return refused;
  }

  bool move(const OpaqueGroup& opaque, uint32_t target) {
    bool moved = false;
    const std::unordered_map<uint32_t, const OpaqueEdge*> farthest = paths_.farthest_edges(opaque);
    for (uint32_t node : opaque.nodes) {
      if (placement_.nodes[node].target == target) continue;
      const auto edge = farthest.find(node);
      const ValueId value = edge == farthest.end() ? opaque.edges[0].value : edge->second->value;
      placement_.nodes[node].target = target;
      placement_.nodes[node].reason =
          fmt::format("between operators that pass '{}'", graph_.value(value).name);
      moved = true;
    }
    return moved;
  }

  /// Opens the group: its values with a refused node in between may be handed over.
  Status open(const OpaqueGroup& opaque, const std::vector<uint32_t>& refused, uint32_t target) {
    const Target& backend = *targets_[target].backend;
    std::vector<OpaqueEdge> handed;
    for (const OpaqueEdge& edge : opaque.edges) {
      if (backend.hands_over(graph_.value(edge.value).type)) handed.push_back(edge);
    }
    const std::string because = backend.supports(graph_, NodeId{refused[0]}, targets_[target].device).because;
    if (handed.empty()) {
      return impossible(
          opaque, refused[0], target,
          fmt::format("is refused by {} ({}), which cannot hand such a value from one region to another",
                      backend.name(), because));
    }
    for (const OpaqueEdge& edge : paths_.choose_to_open(opaque, handed, refused)) {
      opened_.emplace(
          std::pair(edge.value, edge.reader),
          fmt::format("; '{}' may come from another region, as {} refuses '{}' in between",
                      graph_.value(edge.value).name, backend.name(), graph_.nodes[refused[0]].name));
    }
    return {};
  }

  tl::unexpected<Error> impossible(const OpaqueGroup& opaque, uint32_t node, uint32_t target,
                                   const std::string& why) const {
    const OpaqueEdge edge = paths_.edge_through(opaque, {node});
    return fail(
        "'{}' passes from '{}' to '{}' inside {} and cannot leave it, but node '{}' ({}) in between {}; pin "
        "all three to one target",
        graph_.value(edge.value).name, graph_.nodes[edge.producer].name, graph_.nodes[edge.reader].name,
        targets_[target].name, graph_.nodes[node].name, graph_.nodes[node].op, why);
  }

  const Graph& graph_;
  const std::vector<PlacementTarget>& targets_;
  Placement& placement_;
  const Placement as_placed_;
  const GroupPaths paths_;
  std::map<std::pair<ValueId, uint32_t>, std::string> opened_;  // text that reasons get, by value and reader
};

}  // namespace

bool is_opaque(const ValueType& type) { return type.opaque || type.dtype == DType::string; }

Status group_opaque_values(const Graph& graph, const std::vector<PlacementTarget>& targets,
                           Placement& placement) {
  return OpaqueGrouper(graph, targets, placement).run();
}

}  // namespace intarsia
