// Random graphs for property tests. Everything follows from the seed.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "graph/graph.h"
#include "tests/support/rounds.h"

namespace intarsia {

struct RandomGraphOptions {
  size_t max_nodes = 30;
  size_t max_inputs_of_node = 3;
  size_t reach = 1000;  // values back that a node may read; a small number makes long chains
};

/// Makes a graph of foreign nodes n0, n1, ... with one or two outputs, with constants, captures, omitted
/// inputs and outputs, and results that are read by nothing, by many and from outside.
inline Graph make_random_graph(std::mt19937& random, const RandomGraphOptions& options) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Graph graph;
  graph.name = "random";
  graph.opsets = {{"", 17}};
  const ValueType type{DType::f32, SymbolicShape{Dim(2)}, false, {}};
  std::vector<ValueId> readable;
  for (size_t i = 0, count = 1 + below(3); i < count; ++i) {
    graph.inputs.push_back(graph.add_value("x" + std::to_string(i), type));
    readable.push_back(graph.inputs.back());
  }
  readable.push_back(graph.add_constant("w", Tensor(DType::f32, {2})));
  const size_t nodes = 1 + below(options.max_nodes);
  for (size_t i = 0; i < nodes; ++i) {
    Node node;
    node.name = "n" + std::to_string(i);
    node.op = "Foo";
    node.version = 17;
    const auto pick = [&] {
      return readable[readable.size() - 1 - below(std::min(readable.size(), options.reach))];
    };
    for (size_t k = below(options.max_inputs_of_node + 1); k > 0; --k)
      node.inputs.push_back(below(10) == 0 ? no_value : pick());
    if (below(10) == 0) node.captures.push_back(pick());
    const size_t outputs = 1 + (below(4) == 0);
    for (size_t k = 0; k < outputs; ++k) {
      if (below(20) == 0) {
        node.outputs.push_back(no_value);
        continue;
      }
      node.outputs.push_back(graph.add_value(node.name + "_" + std::to_string(k), type));
      if (below(5) == 0) graph.outputs.push_back(node.outputs.back());
    }
    for (ValueId output : node.outputs) {
      if (output != no_value) readable.push_back(output);
    }
    graph.add_node(std::move(node));
  }
  if (below(10) == 0) graph.outputs.push_back(graph.inputs[0]);
  return graph;
}

/// Returns the graph with its nodes and values in another order.
inline Graph shuffle_graph(const Graph& graph, std::mt19937& random) {
  Graph shuffled = graph;
  std::vector<uint32_t> order(graph.nodes.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::shuffle(order, random);
  for (uint32_t i = 0; i < order.size(); ++i) {
    shuffled.nodes[i] = graph.nodes[order[i]];
    for (ValueId output : shuffled.nodes[i].outputs) {
      if (output != no_value) shuffled.value(output).producer = NodeId{i};
    }
  }
  if (!sort_nodes(shuffled)) std::abort();
  return shuffled;
}

inline RandomGraphOptions random_options(std::mt19937& random, size_t max_nodes) {
  return {.max_nodes = max_nodes, .max_inputs_of_node = 1 + random() % 4, .reach = random() % 2 ? 4u : 1000u};
}

/// Calls `body` with a generator for each seed. A failure prints its seed; INTARSIA_SEED=N runs only that
/// one.
template <typename Body>
void for_each_seed(uint32_t count, Body body) {
  const char* only = std::getenv("INTARSIA_SEED");
  const uint32_t first = only ? static_cast<uint32_t>(std::atoi(only)) : 1;
  for (uint32_t seed = first; seed < (only ? first + 1 : first + count * rounds()); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    body(random);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace intarsia
