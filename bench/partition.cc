// Time to group opaque values, partition and insert copies, for graphs of up to 200,000 nodes.
// One JSON object on stdout.
//
//     build/bin/bench_partition [NODES]...
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "graph/graph.h"
#include "plan/partition/elide_copies.h"
#include "plan/partition/group_opaque_values.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "tests/support/fake_target.h"

namespace intarsia {
namespace {

/// Makes a net of `width` parallel chains of nodes with two inputs: the chain's own last value, and with
/// `mixing` percent a value of another chain not far back, as residual connections and concatenations do.
Graph make_net(size_t nodes, size_t width, uint32_t mixing) {
  std::mt19937 random(1);
  Graph graph;
  std::vector<ValueId> last;
  for (size_t i = 0; i < width; ++i)
    last.push_back(graph.inputs.emplace_back(graph.add_value("x" + std::to_string(i))));
  for (size_t i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    Node node{name, "Foo", "", 1, {last[i % width]}, {}, {}, {}};
    if (random() % 100 < mixing) node.inputs.push_back(last[random() % width]);
    last[i % width] = graph.add_value(name + "_0");
    node.outputs = {last[i % width]};
    graph.add_node(std::move(node));
  }
  graph.outputs = last;
  return graph;
}

struct Pattern {
  const char* name;
  uint32_t (*target)(size_t node, std::mt19937& random);
};

constexpr Pattern patterns[] = {
    {"one target", [](size_t, std::mt19937&) { return 0u; }},
    {"1% scattered unsupported nodes",
     [](size_t, std::mt19937& random) { return random() % 100 == 0 ? 1u : 0u; }},
    {"10% scattered unsupported nodes",
     [](size_t, std::mt19937& random) { return random() % 10 == 0 ? 1u : 0u; }},
    {"alternating by 100 nodes",
     [](size_t node, std::mt19937&) { return static_cast<uint32_t>(node / 100 % 2); }},
    {"alternating by 10 nodes",
     [](size_t node, std::mt19937&) { return static_cast<uint32_t>(node / 10 % 2); }},
    {"every other node", [](size_t node, std::mt19937&) { return static_cast<uint32_t>(node % 2); }},
    {"random on 4 targets", [](size_t, std::mt19937& random) { return static_cast<uint32_t>(random() % 4); }},
};

/// Makes one value in a hundred a sequence, which a node up to 1000 further on reads, too. Targets 1 and up
/// are frameworks.
void make_opaque(Graph& graph) {
  std::mt19937 random(3);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (random() % 100 != 0) continue;
    const ValueId made = graph.nodes[i].outputs[0];
    graph.value(made).type.opaque = true;
    graph.nodes[std::min(i + 1 + random() % 1000, graph.nodes.size() - 1)].captures.push_back(made);
  }
  graph.nodes.back().captures.clear();
}

const std::vector<PlacementTarget>& four_targets() {
  static const FakeTarget own("own", {"Foo"}), framework("framework", {"Foo"}, true);
  static const std::vector<PlacementTarget> targets = {{&own, 0, "own@a"},
                                                       {&framework, 0, "framework@a"},
                                                       {&framework, 1, "framework@b"},
                                                       {&framework, 2, "framework@c"}};
  return targets;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(size_t nodes, size_t width, const Pattern& pattern, bool opaque, bool first) {
  Graph graph = make_net(nodes, width, 30);
  std::mt19937 random(2);
  std::vector<uint32_t> target_of;
  for (size_t i = 0; i < nodes; ++i) target_of.push_back(pattern.target(i, random));
  Placement placement(target_of);
  if (opaque) make_opaque(graph);
  const std::vector<uint32_t> memory = {host_memory, 1, 2, 3};
  const auto start = std::chrono::steady_clock::now();
  const Status kept = group_opaque_values(graph, four_targets(), placement);
  const double opaque_seconds = seconds_since(start);
  const Partition partition = partition_graph(graph, placement);
  const double partition_seconds = seconds_since(start) - opaque_seconds;
  const StepList steps = elide_copies(insert_copies(graph, partition, memory));
  const double seconds = seconds_since(start);
  const Status verified = verify_steps(graph, partition, memory, steps);
  if (!kept || !verified || !verify_partition(graph, placement, partition)) {
    std::fprintf(stderr, "error: %s, %zu nodes: wrong partition or steps\n", pattern.name, nodes);
    std::exit(1);
  }
  std::printf(
      "%s\n  {\"nodes\": %zu, \"width\": %zu, \"pattern\": \"%s\", \"opaque\": %s, \"regions\": %zu, "
      "\"steps\": %zu, \"opaque_seconds\": %.4f, \"partition_seconds\": %.4f, \"seconds\": %.4f}",
      first ? "" : ",", nodes, width, pattern.name, opaque ? "true" : "false", partition.regions.size(),
      steps.size(), opaque_seconds, partition_seconds, seconds);
  std::fflush(stdout);
}

}  // namespace
}  // namespace intarsia

int main(int count, char** arguments) {
  std::vector<size_t> sizes;
  for (int i = 1; i < count; ++i) sizes.push_back(static_cast<size_t>(std::atoll(arguments[i])));
  if (sizes.empty()) sizes = {10'000, 50'000, 100'000, 200'000};
  std::printf("{\"results\": [");
  bool first = true;
  for (size_t nodes : sizes) {
    for (size_t width : {size_t{1}, size_t{16}, size_t{1024}}) {
      for (const intarsia::Pattern& pattern : intarsia::patterns) {
        for (bool opaque : {false, true}) {
          intarsia::measure(nodes, width, pattern, opaque, first);
          first = false;
        }
      }
    }
  }
  std::printf("\n]}\n");
}
