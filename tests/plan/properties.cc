// Properties of partitions, groups of opaque values and copies that must hold for every graph and every
// placement, on random ones.
//
// Covers: src/plan/partition/ directed_graph.cc elide_copies.cc group_opaque_values.cc insert_copies.cc
// join_regions.cc partition_graph.cc
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <set>

#include "graph/print_graph.h"
#include "plan/partition/elide_copies.h"
#include "plan/partition/group_opaque_values.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "tests/support/fake_target.h"
#include "tests/support/random_graph.h"

namespace intarsia {
namespace {

Placement random_placement(const Graph& graph, uint32_t targets, std::mt19937& random) {
  std::vector<uint32_t> target_of;
  const uint32_t stay = random() % 4;  // quarters of the nodes that stay on the previous target
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const bool same = i > 0 && random() % 4 < stay;
    target_of.push_back(same ? target_of.back() : static_cast<uint32_t>(random() % targets));
  }
  return Placement(target_of);
}

/// Returns the edges between regions, found independently.
std::set<std::pair<uint32_t, uint32_t>> region_edges(const Graph& graph,
                                                     const std::vector<uint32_t>& region_of) {
  std::set<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId read : values_read(graph.nodes[i])) {
      const NodeId producer = graph.value(read).producer;
      if (producer != no_node && region_of[index(producer)] != region_of[i])
        edges.emplace(region_of[index(producer)], region_of[i]);
    }
  }
  return edges;
}

/// Checks for cycles by removing what nothing leads to, until nothing is left or nothing can be removed.
bool is_acyclic(std::set<std::pair<uint32_t, uint32_t>> edges) {
  while (!edges.empty()) {
    std::set<uint32_t> targets;
    for (const auto& [from, to] : edges) targets.insert(to);
    if (std::erase_if(edges, [&](const auto& edge) { return !targets.contains(edge.first); }) == 0)
      return false;
  }
  return true;
}

/// Returns the regions as sets of node names with their target.
std::set<std::pair<uint32_t, std::set<std::string>>> named_regions(const Graph& graph,
                                                                   const Partition& partition) {
  std::set<std::pair<uint32_t, std::set<std::string>>> result;
  for (const Region& region : partition.regions) {
    std::set<std::string> names;
    for (NodeId node : region.nodes) names.insert(graph.node(node).name);
    result.emplace(region.target, names);
  }
  return result;
}

TEST(PartitionProperties, ConvexAndMaximal) {
  for_each_seed(10000, [](std::mt19937& random) {
    const Graph graph = make_random_graph(random, random_options(random, 40));
    const Placement placement = random_placement(graph, 1 + random() % 4, random);
    const Partition partition = partition_graph(graph, placement);
    const Status verified = verify_partition(graph, placement, partition);
    ASSERT_TRUE(verified) << verified.error().message;
    ASSERT_TRUE(is_acyclic(region_edges(graph, partition.region_of)));
    for (uint32_t a = 0; a < partition.regions.size() && graph.nodes.size() <= 24; ++a) {
      for (uint32_t b = a + 1; b < partition.regions.size(); ++b) {
        if (partition.regions[a].target != partition.regions[b].target) continue;
        std::vector<uint32_t> joined = partition.region_of;
        std::ranges::replace(joined, b, a);
        ASSERT_FALSE(is_acyclic(region_edges(graph, joined)))
            << "regions " << a << " and " << b << " could be one\n"
            << print_graph(graph);
      }
    }
  });
}

TEST(PartitionProperties, OrderOfNodesDoesNotMatter) {
  for_each_seed(3000, [](std::mt19937& random) {
    const Graph graph = make_random_graph(random, random_options(random, 40));
    const Placement placement = random_placement(graph, 1 + random() % 4, random);
    const Graph shuffled = shuffle_graph(graph, random);
    std::map<std::string, uint32_t> target_of;
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      target_of[graph.nodes[i].name] = placement.nodes[i].target;
    std::vector<uint32_t> shuffled_targets;
    for (const Node& node : shuffled.nodes) shuffled_targets.push_back(target_of[node.name]);
    ASSERT_EQ(named_regions(graph, partition_graph(graph, placement)),
              named_regions(shuffled, partition_graph(shuffled, Placement(shuffled_targets))));
  });
}

/// Returns the fewest runs of one target over all orders in which the nodes can run: a path over the sets of
/// nodes that have run.
size_t fewest_regions(const Graph& graph, const Placement& placement) {
  const size_t count = graph.nodes.size();
  std::vector<uint32_t> needs(count, 0);
  for (uint32_t i = 0; i < count; ++i) {
    for (ValueId read : values_read(graph.nodes[i])) {
      const NodeId producer = graph.value(read).producer;
      if (producer != no_node) needs[i] |= 1u << index(producer);
    }
  }
  const size_t never = std::numeric_limits<size_t>::max();
  std::vector<std::array<size_t, 2>> runs(size_t{1} << count, {never, never});
  runs[0] = {0, 0};
  for (uint32_t done = 0; done < runs.size(); ++done) {
    for (uint32_t last = 0; last < 2; ++last) {
      for (uint32_t i = 0; i < count && runs[done][last] != never; ++i) {
        if ((done >> i & 1) != 0 || (needs[i] & ~done) != 0) continue;
        const uint32_t target = placement.nodes[i].target;
        size_t& best = runs[done | 1u << i][target];
        best = std::min(best, runs[done][last] + (done == 0 || target != last));
      }
    }
  }
  return std::min(runs.back()[0], runs.back()[1]);
}

TEST(PartitionProperties, FewestRegionsOfTwoTargets) {
  for_each_seed(3000, [](std::mt19937& random) {
    const Graph graph = make_random_graph(random, random_options(random, 10));
    const Placement placement = random_placement(graph, 2, random);
    ASSERT_EQ(partition_graph(graph, placement).regions.size(), fewest_regions(graph, placement))
        << print_graph(graph);
  });
}

/// Set of two native backends, then two frameworks that take every operator but "Own".
struct FrameworkTargets {
  FakeTarget own{"own", {"Foo", "Own"}}, other{"other", {"Foo", "Own"}};
  FakeTarget framework{"framework", {"Foo"}, true}, second{"second", {"Foo"}, true};
  std::vector<PlacementTarget> targets = {{&own, 0, "own@cpu"},
                                          {&other, 0, "other@cpu"},
                                          {&framework, 0, "framework@cpu"},
                                          {&second, 0, "second@cpu"}};
};

/// Makes some values strings or sequences; with `own`, frameworks refuse some nodes.
void make_opaque(Graph& graph, Placement& placement, bool own, std::mt19937& random) {
  const uint32_t rate = 2 + random() % 10;
  for (Value& value : graph.values) {
    if (value.constant || random() % rate != 0) continue;
    value.type.opaque = random() % 2 == 0;
    if (!value.type.opaque) value.type.dtype = DType::string;
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (own && placement.nodes[i].target < 2 && random() % 4 == 0) graph.nodes[i].op = "Own";
    placement.nodes[i].reason = "placed";
  }
}

/// Returns, for each node, whether it leads to each other one; walks the graph, however slow.
std::vector<std::vector<bool>> find_paths(const Graph& graph) {
  const size_t count = graph.nodes.size();
  std::vector<std::vector<bool>> leads(count, std::vector<bool>(count, false));
  for (size_t to = 0; to < count; ++to) {
    for (ValueId read : values_read(graph.nodes[to])) {
      const NodeId producer = graph.value(read).producer;
      if (producer == no_node) continue;
      for (size_t from = 0; from < count; ++from) {
        if (from == index(producer) || leads[from][index(producer)]) leads[from][to] = true;
      }
    }
  }
  return leads;
}

/// Returns (producer, reader) of the values that the framework of both must keep inside.
std::vector<std::pair<size_t, size_t>> opaque_edges(const Graph& graph, const Placement& placement) {
  std::vector<std::pair<size_t, size_t>> edges;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId read : values_read(graph.nodes[i])) {
      const Value& value = graph.value(read);
      if (value.producer == no_node || !(value.type.opaque || value.type.dtype == DType::string)) continue;
      if (placement.nodes[i].target >= 2 && placement[value.producer].target == placement.nodes[i].target)
        edges.emplace_back(index(value.producer), i);
    }
  }
  return edges;
}

/// Forms the groups by their definition: pairs join, then what lies on a path from a group to itself through
/// other nodes and groups, repeatedly. Returns the group of each node (any number).
std::vector<size_t> close_by_definition(const Graph& graph, const Placement& placement) {
  const size_t count = graph.nodes.size();
  std::vector<size_t> group(count);
  for (size_t i = 0; i < count; ++i) group[i] = i;
  const auto join = [&](size_t a, size_t b) {
    const size_t from = std::max(group[a], group[b]), to = std::min(group[a], group[b]);
    std::ranges::replace(group, from, to);
  };
  for (const auto& [producer, reader] : opaque_edges(graph, placement)) join(producer, reader);
  const std::vector<std::vector<bool>> leads = find_paths(graph);
  std::vector<std::vector<bool>> between(count, std::vector<bool>(count, false));
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b)
      between[group[a]][group[b]] = between[group[a]][group[b]] || leads[a][b];
  }
  for (size_t via = 0; via < count; ++via) {
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = 0; b < count; ++b)
        between[a][b] = between[a][b] || (between[a][via] && between[via][b]);
    }
  }
  const std::vector<size_t> first = group;
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b) {
      if (between[first[a]][first[b]] && between[first[b]][first[a]]) join(a, b);
    }
  }
  return group;
}

TEST(OpaqueProperties, EveryOpaqueValueStaysInOneRegion) {
  const FrameworkTargets given;
  for_each_seed(10000, [&](std::mt19937& random) {
    Graph graph = make_random_graph(random, random_options(random, 30));
    Placement placement = random_placement(graph, 3 + random() % 2, random);
    make_opaque(graph, placement, false, random);
    const Placement before = placement;
    const Status kept = group_opaque_values(graph, given.targets, placement);
    ASSERT_TRUE(kept) << kept.error().message;
    const Partition partition = partition_graph(graph, placement);
    const Status verified = verify_partition(graph, placement, partition);
    ASSERT_TRUE(verified) << verified.error().message;
    ASSERT_TRUE(is_acyclic(region_edges(graph, partition.region_of)));
    for (const auto& [producer, reader] : opaque_edges(graph, placement))
      ASSERT_EQ(partition.region_of[producer], partition.region_of[reader]) << print_graph(graph);
    const std::vector<size_t> group = close_by_definition(graph, placement);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const bool alone = std::ranges::count(group, group[i]) == 1;
      ASSERT_TRUE(!alone || placement.nodes[i].target == before.nodes[i].target) << "node " << i << " moved\n"
                                                                                 << print_graph(graph);
      ASSERT_EQ(placement.nodes[i].target == before.nodes[i].target, placement.nodes[i].reason == "placed");
      ASSERT_TRUE(placement.nodes[i].group == group[i]) << print_graph(graph);
    }
  });
}

TEST(OpaqueProperties, WhatIsRefusedLeavesGroupsOpen) {
  const FrameworkTargets given;
  for_each_seed(5000, [&](std::mt19937& random) {
    Graph graph = make_random_graph(random, random_options(random, 30));
    Placement placement = random_placement(graph, 4, random);
    make_opaque(graph, placement, true, random);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].op == "Own") placement.nodes[i].target = 0;
    }
    ASSERT_TRUE(group_opaque_values(graph, given.targets, placement));
    const Partition partition = partition_graph(graph, placement);
    ASSERT_TRUE(verify_partition(graph, placement, partition));
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      ASSERT_FALSE(graph.nodes[i].op == "Own" && placement.nodes[i].target >= 2) << "a refused node moved";
    for (const auto& [producer, reader] : opaque_edges(graph, placement)) {
      const bool together = partition.region_of[producer] == partition.region_of[reader];
      ASSERT_TRUE(together ||
                  placement.nodes[reader].reason.find("may come from another region") != std::string::npos);
    }
  });
}

TEST(OpaqueProperties, PinsStay) {
  const FrameworkTargets given;
  size_t errors = 0;
  for_each_seed(3000, [&](std::mt19937& random) {
    Graph graph = make_random_graph(random, random_options(random, 30));
    Placement placement = random_placement(graph, 3, random);
    make_opaque(graph, placement, false, random);
    for (PlacedNode& node : placement.nodes) node.pinned = random() % 8 == 0;
    const Placement before = placement;
    const Status kept = group_opaque_values(graph, given.targets, placement);
    errors += !kept;
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      ASSERT_TRUE(!before.nodes[i].pinned || placement.nodes[i].target == before.nodes[i].target);
    ASSERT_TRUE(kept || kept.error().message.find("is pinned to") != std::string::npos)
        << kept.error().message;
  });
  EXPECT_TRUE(std::getenv("INTARSIA_SEED") != nullptr || errors > 0);
}

/// Counts the copies that no plan can omit: one per value and memory in which it is read but not produced.
size_t needed_copies(const Graph& graph, const Placement& placement,
                     const std::vector<uint32_t>& space_of_target) {
  const auto memory_of = [&](size_t node) { return space_of_target[placement.nodes[node].target]; };
  std::set<PlacedValue> needed;
  const auto need = [&](ValueId id, uint32_t memory) {
    const Value& value = graph.value(id);
    const uint32_t home = value.producer == no_node ? host_memory : memory_of(index(value.producer));
    if (!value.constant && home != memory) needed.insert({id, memory});
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId read : values_read(graph.nodes[i])) need(read, memory_of(i));
  }
  for (ValueId output : graph.outputs) need(output, host_memory);
  return needed.size();
}

TEST(PartitionProperties, VerifierFindsWhatABoundaryLacks) {
  for_each_seed(1000, [](std::mt19937& random) {
    const Graph graph = make_random_graph(random, random_options(random, 20));
    const Placement placement = random_placement(graph, 3, random);
    const Partition partition = partition_graph(graph, placement);
    ASSERT_TRUE(verify_partition(graph, placement, partition));
    for (size_t r = 0; r < partition.regions.size(); ++r) {
      for (std::vector<ValueId> Boundary::* side : {&Boundary::inputs, &Boundary::outputs}) {
        Partition broken = partition;
        std::vector<ValueId>& values = broken.boundaries[r].*side;
        if (values.empty())
          values.push_back(ValueId{0});
        else
          values.pop_back();
        ASSERT_FALSE(verify_partition(graph, placement, broken)) << "region " << r << "\n"
                                                                 << print_graph(graph);
      }
    }
  });
}

TEST(CopyProperties, OncePerValueAndMemory) {
  for_each_seed(10000, [](std::mt19937& random) {
    const Graph graph = make_random_graph(random, random_options(random, 30));
    const Placement placement = random_placement(graph, 4, random);
    const std::vector<uint32_t> memory = {host_memory, 1, 2, random() % 2 ? host_memory : 1};
    const Partition partition = partition_graph(graph, placement);
    const StepList naive = insert_copies(graph, partition, memory);
    const StepList steps = elide_copies(naive);
    const Status verified = verify_steps(graph, partition, memory, steps);
    ASSERT_TRUE(verified) << verified.error().message;
    auto at = naive.begin();  // nothing is new: what remains stands in the same order
    for (const Step& step : steps) {
      at = std::find(at, naive.end(), step);
      ASSERT_NE(at++, naive.end());
    }
    std::set<PlacedValue> arrived;
    for (const Step& step : steps) {
      if (step.kind != Step::Kind::copy) continue;
      ASSERT_TRUE(arrived.insert(step.to).second) << graph.value(step.to.value).name << " comes twice";
      ASSERT_FALSE(graph.value(step.to.value).constant);
    }
    ASSERT_EQ(arrived.size(), needed_copies(graph, placement, memory));
  });
}

TEST(CopyProperties, VerifierFindsWhatIsMissing) {
  for_each_seed(1000, [](std::mt19937& random) {
    const Graph graph = make_random_graph(random, random_options(random, 20));
    const Placement placement = random_placement(graph, 3, random);
    const std::vector<uint32_t> memory = {host_memory, 1, 2};
    const Partition partition = partition_graph(graph, placement);
    const StepList steps = elide_copies(insert_copies(graph, partition, memory));
    for (size_t i = 0; i < steps.size(); ++i) {
      StepList broken = steps;
      broken.erase(broken.begin() + static_cast<ptrdiff_t>(i));
      const bool is_copy = steps[i].kind == Step::Kind::copy;
      const bool is_read = !is_copy && !partition.boundaries[steps[i].region].outputs.empty();
      if (is_copy || is_read) {
        ASSERT_FALSE(verify_steps(graph, partition, memory, broken)) << "without step " << i << "\n"
                                                                     << print_graph(graph);
      }
    }
  });
}

}  // namespace
}  // namespace intarsia
