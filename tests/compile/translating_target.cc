// Questions about TensorFlow operators to a backend that knows only the standard ones.
//
// Covers: src/compile/ translating_target.cc
#include "compile/translating_target.h"

#include <gtest/gtest.h>

#include "tests/support/fake_target.h"

namespace intarsia {
namespace {

/// Backend that makes one group of all Relu.
class GroupingTarget : public FakeTarget {
 public:
  GroupingTarget() : FakeTarget("grouping", {"Relu"}) { info_.has_groups = true; }
  Result<std::vector<size_t>> groups(const Graph& graph, const TargetDevice&) const override {
    std::vector<size_t> group_of;
    for (const Node& node : graph.nodes) group_of.push_back(node.op == "Relu" ? 7 : no_group);
    return group_of;
  }
};

/// Makes the graph x -> each operator of the domain -> out.
Graph chain(const std::vector<std::string>& operators, const std::string& domain) {
  Graph graph;
  const ValueType type{DType::f32, to_symbolic({2}), false, {}};
  ValueId value = graph.add_value("x", type);
  graph.inputs = {value};
  for (const std::string& op : operators) {
    const std::string name = fmt::format("{}{}", op, graph.nodes.size());
    const ValueId made = graph.add_value(name, type);
    graph.add_node({name, op, domain, 21, {value}, {made}, {}, {}});
    value = made;
  }
  graph.outputs = {value};
  return graph;
}

Result<std::vector<size_t>> groups_of(const Graph& graph) {
  const auto evaluate = [](const Node&, std::span<const Tensor* const>) -> Result<std::vector<Tensor>> {
    return fail("nothing here is known");
  };
  return make_translating_target(std::make_unique<GroupingTarget>(), evaluate)->groups(graph, {});
}

TEST(TranslatingTarget, PassesGroupsOn) {
  EXPECT_EQ(groups_of(chain({"Relu", "Exp", "Relu"}, "")), (std::vector<size_t>{7, no_group, 7}));
}

TEST(TranslatingTarget, GroupsTensorFlowsNodesAsTheirTranslations) {
  EXPECT_EQ(groups_of(chain({"Relu", "NobodyKnows", "Exp", "Relu"}, "tensorflow")),
            (std::vector<size_t>{7, no_group, no_group, 7}));
}

}  // namespace
}  // namespace intarsia
