#include "plan/partition/partition_graph.h"

#include <algorithm>
#include <set>

#include "plan/partition/grow_regions.h"

namespace intarsia {
namespace {

/// Atoms: nodes that stay together; most are alone. They are numbered in the order of their first nodes.
/// Until expand_atoms, a region's `nodes` are atoms.
struct Atoms {
  std::vector<uint32_t> of_node;
  std::vector<std::vector<uint32_t>> nodes;  // nodes of each atom, ascending
  std::vector<uint32_t> target;
};

Atoms find_atoms(const Graph& graph, const Placement& placement) {
  Atoms atoms;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const uint32_t first = placement.nodes[i].group;
    if (first == i) {
      atoms.of_node.push_back(static_cast<uint32_t>(atoms.nodes.size()));
      atoms.nodes.emplace_back();
      atoms.target.push_back(placement.nodes[i].target);
    } else {
      INTARSIA_CHECK(first < i);
      atoms.of_node.push_back(atoms.of_node[first]);
    }
    atoms.nodes[atoms.of_node[i]].push_back(i);
  }
  return atoms;
}

/// Returns, for each atom, the atoms that read what it makes, each once.
Neighbors find_atom_readers(const Graph& graph, const Atoms& atoms) {
  const size_t count = atoms.nodes.size();
  Neighbors next(count);
  std::vector<uint32_t> last_reader(count, 0xffffffff);
  for (uint32_t atom = 0; atom < count; ++atom) {
    for (uint32_t node : atoms.nodes[atom]) {
      for (ValueId read : values_read(graph.nodes[node])) {
        const NodeId producer = graph.value(read).producer;
        if (producer == no_node) continue;
        const uint32_t from = atoms.of_node[index(producer)];
        if (from == atom || last_reader[from] == atom) continue;
        last_reader[from] = atom;
        next[from].push_back(atom);
      }
    }
  }
  return next;
}

void expand_atoms(std::vector<Region>& regions, const Atoms& atoms) {
  for (Region& region : regions) {
    std::vector<NodeId> nodes;
    for (NodeId atom : region.nodes) {
      for (uint32_t node : atoms.nodes[index(atom)]) nodes.push_back(NodeId{node});
    }
    std::ranges::sort(nodes);
    region.nodes = std::move(nodes);
  }
}

/// Grows regions from atoms of one target, one stage and one open size.
std::vector<Region> grow_alike(const Neighbors& next, const Atoms& atoms, const Placement& placement) {
  const uint32_t targets = 1 + std::ranges::max(atoms.target),
                 sizes = 1 + std::ranges::max(placement.nodes, {}, &PlacedNode::open_size).open_size;
  std::vector<uint32_t> kinds;
  for (size_t atom = 0; atom < atoms.nodes.size(); ++atom) {
    const PlacedNode& node = placement.nodes[atoms.nodes[atom][0]];
    kinds.push_back((node.stage * sizes + node.open_size) * targets + atoms.target[atom]);
  }
  std::vector<Region> regions = grow_regions(next, kinds);
  for (Region& region : regions) {
    region.stage = region.target / (targets * sizes);
    region.target %= targets;
  }
  std::ranges::stable_sort(regions, {}, &Region::stage);
  return regions;
}

std::vector<Boundary> find_boundaries(const Graph& graph, const std::vector<Region>& regions) {
  const BoundaryFinder finder(graph);
  std::vector<Boundary> boundaries;
  for (const Region& region : regions) boundaries.push_back(finder.find(region.nodes));
  return boundaries;
}

/// Checks that every value that crosses between regions is at both boundaries, and that the graph's inputs
/// and outputs are at those of the regions that read or make them.
Status verify_boundaries(const Graph& graph, const Partition& partition) {
  std::vector<std::set<ValueId>> inputs(partition.regions.size()), outputs(partition.regions.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId read : values_read(graph.nodes[i])) {
      const Value& value = graph.value(read);
      const bool is_made = value.producer != no_node;
      const uint32_t region = partition.region_of[i];
      if (value.constant || (is_made && partition.region_of[index(value.producer)] == region)) continue;
      inputs[region].insert(read);
      if (is_made) outputs[partition.region_of[index(value.producer)]].insert(read);
    }
  }
  for (ValueId output : graph.outputs) {
    const NodeId producer = graph.value(output).producer;
    if (producer != no_node) outputs[partition.region_of[index(producer)]].insert(output);
  }
  for (size_t r = 0; r < partition.regions.size(); ++r) {
    const Boundary& boundary = partition.boundaries[r];
    const auto is_each_once = [](const std::vector<ValueId>& list, const std::set<ValueId>& wanted) {
      return list.size() == wanted.size() && std::set(list.begin(), list.end()) == wanted;
    };
    if (!is_each_once(boundary.inputs, inputs[r]) || !is_each_once(boundary.outputs, outputs[r]))
      return fail("region {} has other values at its boundary than it exchanges", r);
  }
  return {};
}

}  // namespace

Partition partition_graph(const Graph& graph, const Placement& placement) {
  if (graph.nodes.empty()) return {};
  const Atoms atoms = find_atoms(graph, placement);
  std::vector<Region> regions = grow_alike(find_atom_readers(graph, atoms), atoms, placement);
  expand_atoms(regions, atoms);
  return number_regions(graph, std::move(regions));
}

Partition number_regions(const Graph& graph, std::vector<Region> regions) {
  std::vector<uint32_t> region_of = number_nodes(regions, graph.nodes.size());
  std::vector<Boundary> boundaries = find_boundaries(graph, regions);
  return {std::move(regions), std::move(region_of), std::move(boundaries), {}};
}

Status verify_partition(const Graph& graph, const Placement& placement, const Partition& partition) {
  if (partition.boundaries.size() != partition.regions.size()) return fail("a region has no boundary");
  std::vector<bool> seen(graph.nodes.size(), false);
  for (uint32_t r = 0; r < partition.regions.size(); ++r) {
    if (r > 0 && partition.regions[r].stage < partition.regions[r - 1].stage)
      return fail("region {} is of an earlier stage than the one before it", r);
    for (NodeId node : partition.regions[r].nodes) {
      if (placement[node].stage != partition.regions[r].stage)
        return fail("node '{}' is in a region of another stage", graph.node(node).name);
      if (seen[index(node)]) return fail("node '{}' is in two regions", graph.node(node).name);
      seen[index(node)] = true;
      if (partition.region_of[index(node)] != r)
        return fail("node '{}' does not know its region", graph.node(node).name);
      if (partition.region_of[placement[node].group] != r)
        return fail("node '{}' is torn from its group", graph.node(node).name);
      if (placement[node].target != partition.regions[r].target)
        return fail("node '{}' is in a region of another target", graph.node(node).name);
      if (placement[node].open_size != placement[partition.regions[r].nodes[0]].open_size)
        return fail("node '{}' is in a region of another open size", graph.node(node).name);
      for (ValueId read : values_read(graph.node(node))) {
        const NodeId producer = graph.value(read).producer;
        if (producer != no_node && partition.region_of[index(producer)] > r) {
          return fail("region {} reads '{}' from the later region {}", r, graph.value(read).name,
                      partition.region_of[index(producer)]);
        }
      }
    }
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) return fail("node '{}' is in no region", graph.nodes[i].name);
  }
  return verify_boundaries(graph, partition);
}

}  // namespace intarsia
