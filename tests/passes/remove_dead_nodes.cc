// Removal of dead nodes: a random graph keeps what its outputs need, and nothing else.
//
// Covers: src/passes/ remove_dead_nodes.cc
#include "passes/remove_dead_nodes.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/verify_graph.h"
#include "tests/support/random_graph.h"

namespace intarsia {
namespace {

/// Returns the names of the values that an output needs.
std::set<std::string> cone_of_outputs(const Graph& graph) {
  std::set<std::string> names;
  std::vector<ValueId> stack = graph.outputs;
  while (!stack.empty()) {
    const Value& value = graph.value(stack.back());
    stack.pop_back();
    if (!names.insert(value.name).second || value.producer == no_node) continue;
    const std::vector<ValueId> read = values_read(graph.node(value.producer));
    stack.insert(stack.end(), read.begin(), read.end());
  }
  return names;
}

TEST(DeadNodeProperties, KeepsTheConeOfTheOutputs) {
  for_each_seed(3000, [](std::mt19937& random) {
    const Graph graph = make_random_graph(random, random_options(random, 40));
    Graph small = graph;
    remove_dead_nodes(small);
    const Status verified = verify_graph(small);
    ASSERT_TRUE(verified) << verified.error().message;
    ASSERT_EQ(cone_of_outputs(small), cone_of_outputs(graph));
    for (const Node& node : small.nodes) {
      ASSERT_TRUE(std::ranges::any_of(node.outputs, [&](ValueId id) {
        return id != no_value && cone_of_outputs(graph).contains(small.value(id).name);
      }));
    }
    Graph again = small;
    remove_dead_nodes(again);
    ASSERT_TRUE(again == small);
  });
}

}  // namespace
}  // namespace intarsia
