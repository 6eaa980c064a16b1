#include "plan/partition_graph.h"

#include <algorithm>
#include <queue>
#include <set>

#include "plan/directed_graph.h"
#include "plan/join_regions.h"

namespace intarsia {
namespace {

/// Nodes that stay together are one atom; most are alone. Numbered by their first node. Until the end a
/// region's `nodes` are atoms.
struct Atoms {
  std::vector<uint32_t> of_node;
  std::vector<std::vector<uint32_t>> nodes;  // of each atom, ascending
  std::vector<uint32_t> target;
};

Atoms find_atoms(const Graph& graph, const Placement& placement) {
  Atoms atoms;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const uint32_t first = placement.group.empty() ? i : placement.group[i];
    if (first == i) {
      atoms.of_node.push_back(static_cast<uint32_t>(atoms.nodes.size()));
      atoms.nodes.emplace_back();
      atoms.target.push_back(placement.target[i]);
    } else {
      INTARSIA_CHECK(first < i);
      atoms.of_node.push_back(atoms.of_node[first]);
    }
    atoms.nodes[atoms.of_node[i]].push_back(i);
  }
  return atoms;
}

/// Which atom waits for which, in dense arrays.
struct Dependencies {
  std::vector<std::vector<uint32_t>> next;  // atoms that read what an atom makes, each once
  std::vector<uint32_t> missing;            // how many atoms an atom waits for
};

Dependencies find_dependencies(const Graph& graph, const Atoms& atoms) {
  const size_t count = atoms.nodes.size();
  Dependencies result{std::vector<std::vector<uint32_t>>(count), std::vector<uint32_t>(count, 0)};
  std::vector<uint32_t> last_reader(count, 0xffffffff);
  const auto add = [&](uint32_t from, uint32_t to) {
    if (from == to || last_reader[from] == to) return;
    last_reader[from] = to;
    result.next[from].push_back(to);
    ++result.missing[to];
  };
  for (uint32_t atom = 0; atom < count; ++atom) {
    for (uint32_t node : atoms.nodes[atom]) {
      for (ValueId read : values_read(graph.nodes[node])) {
        const NodeId producer = graph.value(read).producer;
        if (producer != no_node) add(atoms.of_node[index(producer)], atom);
      }
    }
  }
  return result;
}

using Waves = std::vector<Region>;

/// Grows waves, beginning with target `start`; each wave after it goes to the target with the most ready
/// nodes.
Waves grow_waves(const Dependencies& dependencies, const std::vector<uint32_t>& target_of, uint32_t targets,
                 uint32_t start) {
  std::vector<uint32_t> missing = dependencies.missing;
  std::vector<std::vector<uint32_t>> ready(targets);
  for (uint32_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) ready[target_of[i]].push_back(i);
  }
  Waves waves;
  for (uint32_t target = start; true;) {
    if (!ready[target].empty()) {
      Region region{target, {}};
      while (!ready[target].empty()) {
        const uint32_t node = ready[target].back();
        ready[target].pop_back();
        region.nodes.push_back(NodeId{node});
        for (uint32_t reader : dependencies.next[node]) {
          if (--missing[reader] == 0) ready[target_of[reader]].push_back(reader);
        }
      }
      std::ranges::sort(region.nodes);
      waves.push_back(std::move(region));
    }
    auto most = std::ranges::max_element(ready, {}, [](const auto& list) { return list.size(); });
    if (most->empty()) return waves;
    target = static_cast<uint32_t>(most - ready.begin());
  }
}

Waves grow_fewest_waves(const Dependencies& dependencies, const std::vector<uint32_t>& target_of) {
  const uint32_t targets = 1 + *std::ranges::max_element(target_of);
  Waves best;
  for (uint32_t start = 0; start < targets; ++start) {
    Waves waves = grow_waves(dependencies, target_of, targets, start);
    if (best.empty() || waves.size() < best.size()) best = std::move(waves);
  }
  return best;
}

std::vector<uint32_t> number_nodes(const Waves& waves, size_t nodes) {
  std::vector<uint32_t> region_of(nodes);
  for (uint32_t r = 0; r < waves.size(); ++r) {
    for (NodeId node : waves[r].nodes) region_of[index(node)] = r;
  }
  return region_of;
}

/// The contracted graph: for every region those that read from it, each once.
std::vector<std::vector<uint32_t>> contract(const Dependencies& dependencies, const Waves& waves) {
  const std::vector<uint32_t> region_of = number_nodes(waves, dependencies.next.size());
  std::vector<std::vector<uint32_t>> next(waves.size());
  std::vector<uint32_t> last_writer(waves.size(), 0xffffffff);
  for (uint32_t r = 0; r < waves.size(); ++r) {
    for (NodeId node : waves[r].nodes) {
      for (uint32_t reader : dependencies.next[index(node)]) {
        const uint32_t region = region_of[reader];
        if (region == r || last_writer[region] == r) continue;
        last_writer[region] = r;
        next[r].push_back(region);
      }
    }
  }
  return next;
}

/// Regions so that each reads only from earlier ones; among the free ones that with the first node goes
/// first.
void sort_regions(Waves& waves, const Dependencies& dependencies) {
  const std::vector<std::vector<uint32_t>> next = contract(dependencies, waves);
  std::vector<uint32_t> missing(waves.size(), 0);
  for (const std::vector<uint32_t>& readers : next) {
    for (uint32_t reader : readers) ++missing[reader];
  }
  using Entry = std::pair<NodeId, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (uint32_t r = 0; r < waves.size(); ++r) {
    if (missing[r] == 0) ready.emplace(waves[r].nodes[0], r);
  }
  Waves sorted;
  while (!ready.empty()) {
    const uint32_t region = ready.top().second;
    ready.pop();
    for (uint32_t reader : next[region]) {
      if (--missing[reader] == 0) ready.emplace(waves[reader].nodes[0], reader);
    }
    sorted.push_back(std::move(waves[region]));
  }
  INTARSIA_CHECK(sorted.size() == waves.size());
  waves = std::move(sorted);
}

void expand_atoms(Waves& waves, const Atoms& atoms) {
  for (Region& region : waves) {
    std::vector<NodeId> nodes;
    for (NodeId atom : region.nodes) {
      for (uint32_t node : atoms.nodes[index(atom)]) nodes.push_back(NodeId{node});
    }
    std::ranges::sort(nodes);
    region.nodes = std::move(nodes);
  }
}

std::vector<Boundary> find_boundaries(const Graph& graph, const Waves& waves) {
  const BoundaryFinder finder(graph);
  std::vector<Boundary> boundaries;
  for (const Region& region : waves) boundaries.push_back(finder.find(region.nodes));
  return boundaries;
}

/// Every value that crosses between regions is at both boundaries, and so is what the graph reads and gives.
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
  const Dependencies dependencies = find_dependencies(graph, atoms);
  Waves waves = grow_fewest_waves(dependencies, atoms.target);
  join_regions(waves, reverse_edges(contract(dependencies, waves)));
  sort_regions(waves, dependencies);
  expand_atoms(waves, atoms);
  return number_regions(graph, std::move(waves));
}

Partition number_regions(const Graph& graph, std::vector<Region> regions) {
  std::vector<uint32_t> region_of = number_nodes(regions, graph.nodes.size());
  std::vector<Boundary> boundaries = find_boundaries(graph, regions);
  return {std::move(regions), std::move(region_of), std::move(boundaries)};
}

Status verify_partition(const Graph& graph, const Placement& placement, const Partition& partition) {
  if (partition.boundaries.size() != partition.regions.size()) return fail("a region has no boundary");
  std::vector<bool> seen(graph.nodes.size(), false);
  for (uint32_t r = 0; r < partition.regions.size(); ++r) {
    for (NodeId node : partition.regions[r].nodes) {
      if (seen[index(node)]) return fail("node '{}' is in two regions", graph.node(node).name);
      seen[index(node)] = true;
      if (partition.region_of[index(node)] != r)
        return fail("node '{}' does not know its region", graph.node(node).name);
      if (!placement.group.empty() && partition.region_of[placement.group[index(node)]] != r)
        return fail("node '{}' is torn from its group", graph.node(node).name);
      if (placement.target[index(node)] != partition.regions[r].target)
        return fail("node '{}' is in a region of another target", graph.node(node).name);
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
