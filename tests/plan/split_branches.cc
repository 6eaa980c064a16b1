// Regions are split where another executor could work meanwhile, and only there.
//
// Covers: src/plan/partition/ split_branches.cc
#include "plan/partition/split_branches.h"

#include <gtest/gtest.h>

#include "graph/parse_graph.h"
#include "plan/partition/partition_graph.h"
#include "tests/support/fake_target.h"
#include "tests/support/random_graph.h"

namespace intarsia {
namespace {

/// Splitter for one backend on `slots` executors, given the slot of each node by number.
class Splitting {
 public:
  Splitting(Graph graph, const std::vector<uint32_t>& slot_of_node, uint32_t slots) {
    problem_.graph = std::move(graph);
    for (uint32_t slot = 0; slot < slots; ++slot) {
      problem_.slots.push_back({fmt::format("s{}", slot), "cpu", fmt::format("cpu:{}", slot)});
      problem_.targets.push_back({&backend_, slot, fmt::format("fake@s{}", slot)});
      problem_.space_of_target.push_back(host_memory);
    }
    placement_ = Placement(slot_of_node);
  }

  Placement& placement() { return placement_; }

  Partition split() const {
    Partition partition = partition_graph(problem_.graph, placement_);
    split_branches(problem_, placement_, partition);
    const Status verified = verify_partition(problem_.graph, placement_, partition);
    EXPECT_TRUE(verified) << verified.error().message;
    return partition;
  }

  /// Returns the names of the nodes of each region, as "a1 a2 | b1".
  std::string regions() const {
    std::string text;
    for (const Region& region : split().regions) {
      if (!text.empty()) text += " |";
      for (NodeId node : region.nodes) text += " " + problem_.graph.node(node).name;
    }
    return text;
  }

 private:
  FakeTarget backend_{"fake", {}};
  PlanningProblem problem_;
  Placement placement_;
};

/// Makes two branches and a node that joins them; a branch consists of `op`.
Graph two_branches(const std::string& op) {
  const std::string text = R"(graph "g" opsets {"": 17}
input %x : f32[4,4]
%p = OP(%x, %x) "a1"
%q = OP(%p, %p) "a2"
%r = OP(%x, %x) "b1"
%s = OP(%r, %r) "b2"
%y = Add(%q, %s) "join"
output %y)";
  std::string made = text;
  for (size_t at = made.find("OP"); at != std::string::npos; at = made.find("OP")) made.replace(at, 2, op);
  return parse_graph(made).value();
}

TEST(SplitBranches, WhatOneBranchNeedsDoesNotWaitForTheOther) {
  EXPECT_EQ(Splitting(two_branches("MatMul"), {0, 0, 1, 1, 0}, 2).regions(), " b1 b2 | a1 a2 | join");
  EXPECT_EQ(Splitting(two_branches("Conv"), {0, 0, 1, 1, 0}, 2).regions(), " b1 b2 | a1 a2 | join");
  EXPECT_EQ(Splitting(two_branches("MatMul"), {0, 0, 1, 1, 1}, 2).regions(), " a1 a2 | b1 b2 | join");
}

TEST(SplitBranches, NotWithoutWorkNorOnOneExecutor) {
  EXPECT_EQ(Splitting(two_branches("Mul"), {0, 0, 1, 1, 0}, 2).regions(), " b1 b2 | a1 a2 join");
  EXPECT_EQ(Splitting(two_branches("MatMul"), {0, 0, 0, 0, 0}, 1).regions(), " a1 a2 b1 b2 join");
}

TEST(SplitBranches, AGroupStaysTogether) {
  Splitting splitting(two_branches("MatMul"), {0, 0, 1, 1, 0}, 2);
  splitting.placement().nodes[4].group = 1;  // a2 and join
  EXPECT_EQ(splitting.regions(), " b1 b2 | a1 | a2 join");
}

TEST(SplitBranches, RandomPartitionsStayValid) {
  for_each_seed(2000, [](std::mt19937& random) {
    Graph graph = make_random_graph(random, random_options(random, 30));
    std::vector<uint32_t> slots;
    for (Node& node : graph.nodes) {
      if (random() % 2 == 0) node.op = "MatMul", node.version = 13;
      slots.push_back(static_cast<uint32_t>(random() % 3));
    }
    Splitting(std::move(graph), std::move(slots), 3).split();
  });
}

}  // namespace
}  // namespace intarsia
