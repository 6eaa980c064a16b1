// Elements that are computed from sizes: random shape arithmetic over symbols, against the reference
// backend's kernels on numbers.
//
// Covers: src/graph/ element_rules.cc shape_context.cc src/passes/ infer_shapes.cc
#include "graph/element_rules.h"

#include <gtest/gtest.h>

#include <random>

#include "backends/reference/evaluate.h"
#include "graph/print_graph.h"
#include "passes/infer_shapes.h"
#include "tests/support/rounds.h"

namespace intarsia {
namespace {

Tensor integers(const std::vector<int64_t>& elements, bool is_scalar) {
  Tensor tensor(DType::i64, is_scalar ? Shape{} : Shape{static_cast<int64_t>(elements.size())});
  std::ranges::copy(elements, tensor.as<int64_t>().begin());
  return tensor;
}

std::vector<int64_t> elements_of(const Tensor& tensor) {
  std::vector<int64_t> elements;
  if (tensor.dtype() == DType::boolean)
    for (bool element : tensor.as<bool>()) elements.push_back(element);
  else
    for (int64_t element : tensor.as<int64_t>()) elements.push_back(element);
  return elements;
}

/// Random nodes on the shape of an input of symbolic sizes, and on small constants.
class ShapeArithmetic {
 public:
  explicit ShapeArithmetic(uint32_t seed) : random_(seed) {
    graph_.opsets = {{"", 18}};
    const SymbolicShape sizes{Dim::named("batch"), 3, Dim::named("seq"), Dim::named("batch") * 2 + 1};
    graph_.inputs = {graph_.add_value("x", {DType::f32, sizes})};
    add("Shape", {graph_.inputs[0]});
    for (int i = 0; i < 3; ++i) constant({between(-2, 4)}, i == 0);
    for (int i = 0; i < 14; ++i) add_any();
  }

  const Graph& graph() const { return graph_; }

  /// Compares all known elements with what the reference computes for these sizes; returns their number.
  size_t compare(const std::map<std::string, Dim>& sizes) const {
    std::map<ValueId, Tensor> values;
    for (size_t i = 0; i < graph_.values.size(); ++i)
      if (graph_.values[i].constant) values[ValueId{static_cast<uint32_t>(i)}] = *graph_.values[i].constant;
    Shape shape;
    for (const Dim& dim : *graph_.value(graph_.inputs[0]).type.shape)
      shape.push_back(dim.substitute(sizes).number());
    values[graph_.inputs[0]] = Tensor(DType::f32, shape);
    size_t compared = 0;
    for (const Node& node : graph_.nodes) {
      std::vector<const Tensor*> inputs;
      for (ValueId input : node.inputs) inputs.push_back(values.contains(input) ? &values[input] : nullptr);
      if (std::ranges::find(inputs, nullptr) != inputs.end()) continue;
      const Result<std::vector<Tensor>> made = reference::evaluate_node(node, inputs);
      if (!made) continue;  // as for a division by a size of 0
      values[node.outputs[0]] = made->front();
      compared += compare(graph_.value(node.outputs[0]), made->front(), sizes);
    }
    return compared;
  }

 private:
  int64_t between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }

  ValueId any_value() {
    return values_[static_cast<size_t>(between(0, static_cast<int64_t>(values_.size()) - 1))];
  }

  ValueId constant(const std::vector<int64_t>& elements, bool is_scalar) {
    values_.push_back(
        graph_.add_constant(fmt::format("c{}", graph_.values.size()), integers(elements, is_scalar)));
    return values_.back();
  }

  /// Adds a node with inferred types, unless its inputs do not fit it.
  void add(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const ValueId made = graph_.add_value(fmt::format("v{}", graph_.values.size()));
    graph_.add_node({fmt::format("n{}", graph_.nodes.size()),
                     op,
                     "",
                     18,
                     std::move(inputs),
                     {made},
                     {},
                     std::move(attributes)});
    if (!infer_node(graph_, NodeId{static_cast<uint32_t>(graph_.nodes.size() - 1)}, {})) {
      graph_.nodes.pop_back();
      graph_.values.pop_back();
      return;
    }
    // A comparison's result is read by Where alone.
    (op == "Equal" || op == "GreaterOrEqual" ? conditions_ : values_).push_back(made);
  }

  void add_any() {
    static const std::vector<std::string> binary{"Add", "Sub", "Mul",   "Div",           "Mod",
                                                 "Min", "Max", "Equal", "GreaterOrEqual"};
    static const std::vector<std::string> reductions{"ReduceProd", "ReduceMax", "ReduceMin"};
    switch (between(0, 8)) {
      case 0:
        return add("Gather", {any_value(), constant({between(-2, 2)}, between(0, 1) == 1)});
      case 1:
        return add("Slice",
                   {any_value(), constant({between(-3, 3)}, false), constant({between(-3, 9)}, false),
                    constant({0}, false), constant({between(0, 1) == 0 ? 1 : between(1, 2)}, false)});
      case 2: {
        Attributes axis;
        axis.set("axis", int64_t{0});
        return add("Concat", {any_value(), any_value()}, axis);
      }
      case 3:
        return add("Unsqueeze", {any_value(), constant({0}, false)});
      case 4:
        return add(reductions[static_cast<size_t>(between(0, 2))], {any_value()});
      case 5:
        if (conditions_.empty()) return;
        return add("Where", {conditions_.back(), any_value(), any_value()});
      default:
        return add(binary[static_cast<size_t>(between(0, static_cast<int64_t>(binary.size()) - 1))],
                   {any_value(), any_value()});
    }
  }

  static size_t compare(const Value& value, const Tensor& made, const std::map<std::string, Dim>& sizes) {
    if (!value.type.elements) return 0;
    const std::vector<int64_t> elements = elements_of(made);
    EXPECT_EQ(elements.size(), value.type.elements->size()) << value.name;
    size_t compared = 0;
    for (size_t i = 0; i < std::min(elements.size(), value.type.elements->size()); ++i) {
      const Dim known = (*value.type.elements)[i].substitute(sizes);
      if (!known.is_number()) continue;
      EXPECT_EQ(known.number(), elements[i]) << value.name << ", element " << i;
      ++compared;
    }
    return compared;
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<ValueId> values_, conditions_;
};

TEST(ElementRules, RandomArithmeticHasTheValueOfItsKernels) {
  size_t compared = 0, unknown = 0;
  for (uint32_t seed = 0; seed < 2000 * rounds(); ++seed) {
    const ShapeArithmetic arithmetic(seed);
    for (const auto& [batch, seq] : std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {1, 1}, {2, 7}, {5, 0}})
      compared += arithmetic.compare({{"batch", batch}, {"seq", seq}});
    for (const Value& value : arithmetic.graph().values)
      unknown += value.producer != no_node && !value.type.elements;
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << "\n"
                                              << print_graph(arithmetic.graph(), {});
  }
  EXPECT_GT(compared, 4 * unknown) << "too little is known for this test to mean something";
}

}  // namespace
}  // namespace intarsia
