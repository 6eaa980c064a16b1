// Ensembles of decision trees against the reference kernel: random trees with tests of every kind, aggregates
// and transforms, NaN and elements equal to splits.
//
// Covers: backends/halide/canonicalize/ canonicalize_trees.cc backends/halide/routines/ trees.cc
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "backends/halide/target.h"
#include "passes/infer_shapes.h"
#include "tests/support/halide_support.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

constexpr int64_t features = 5, targets = 3;

Tensor tensor_of(DType dtype, const std::vector<double>& numbers) {
  Tensor tensor(dtype, {std::ssize(numbers)});
  if (dtype == DType::f64)
    std::ranges::copy(numbers, tensor.as<double>().begin());
  else if (dtype == DType::f32)
    std::ranges::transform(numbers, tensor.as<float>().begin(),
                           [](double number) { return static_cast<float>(number); });
  else
    std::ranges::transform(numbers, tensor.as<uint8_t>().begin(),
                           [](double number) { return static_cast<uint8_t>(number); });
  return tensor;
}

/// Random trees as attributes of a TreeEnsemble. Splits are small whole numbers, as the elements are.
class RandomTrees {
 public:
  RandomTrees(uint64_t seed, DType dtype, int64_t modes) : random_(seed), dtype_(dtype), modes_(modes) {}

  Attributes make(int trees, int most_nodes) {
    for (int tree = 0; tree < trees; ++tree) {
      roots_.push_back(std::ssize(modes_of_));
      add_node(1 + below(most_nodes));
    }
    Attributes attributes;
    attributes.set("nodes_modes", tensor_of(DType::u8, modes_of_));
    attributes.set("nodes_splits", tensor_of(dtype_, splits_));
    attributes.set("nodes_featureids", feature_);
    attributes.set("nodes_missing_value_tracks_true", missing_);
    attributes.set("nodes_falsenodeids", next_[0]);
    attributes.set("nodes_truenodeids", next_[1]);
    attributes.set("nodes_falseleafs", leaf_[0]);
    attributes.set("nodes_trueleafs", leaf_[1]);
    attributes.set("leaf_targetids", target_);
    attributes.set("leaf_weights", tensor_of(dtype_, weights_));
    attributes.set("tree_roots", roots_);
    attributes.set("n_targets", targets);
    if (!members_.empty()) attributes.set("membership_values", tensor_of(dtype_, members_));
    return attributes;
  }

 private:
  int below(int64_t limit) { return static_cast<int>(random_() % static_cast<uint64_t>(limit)); }

  int64_t add_leaf() {
    target_.push_back(below(targets));
    weights_.push_back(below(100) / 8.0 - 6);
    return std::ssize(weights_) - 1;
  }

  /// Adds a node with `nodes` under and including it, true side first, as sets of members are listed.
  int64_t add_node(int nodes) {
    const auto number = static_cast<size_t>(std::ssize(modes_of_));
    const int64_t mode = modes_ < 0 ? below(7) : modes_;
    modes_of_.push_back(static_cast<double>(mode));
    splits_.push_back(below(7) - 3);
    feature_.push_back(below(features));
    missing_.push_back(below(3) == 0 ? 1 : 0);
    if (mode == 6) {
      for (int i = below(3); i >= 0; --i) members_.push_back(below(7) - 3);
      members_.push_back(std::numeric_limits<double>::quiet_NaN());
    }
    for (int side : {0, 1}) next_[side].push_back(0), leaf_[side].push_back(0);
    const int of_true = nodes > 1 ? below(nodes) : 0;
    const int under[] = {nodes - 1 - of_true, of_true};
    for (int side : {1, 0}) {
      const int64_t to = under[side] > 0 ? add_node(under[side]) : add_leaf();
      next_[side][number] = to;
      leaf_[side][number] = under[side] > 0 ? 0 : 1;
    }
    return static_cast<int64_t>(number);
  }

  std::mt19937_64 random_;
  const DType dtype_;
  const int64_t modes_;  // mode of all nodes; -1: any
  std::vector<double> modes_of_, splits_, weights_, members_;
  std::vector<int64_t> feature_, missing_, next_[2], leaf_[2], target_, roots_;
};

Graph graph_of(Attributes attributes, DType dtype, int64_t rows) {
  Graph graph;
  graph.opsets = {{"", 21}, {"ai.onnx.ml", 5}};
  graph.inputs = {graph.add_value("x", {dtype, to_symbolic({rows, features})})};
  graph.outputs = {graph.add_value("y", {dtype, to_symbolic({rows, targets})})};
  Node node{"trees", "TreeEnsemble", "ai.onnx.ml", 5, graph.inputs, graph.outputs, {}, {}};
  node.attributes = std::move(attributes);
  graph.add_node(std::move(node));
  return graph;
}

void expect_equal(const Graph& graph, DType dtype, int64_t rows) {
  EXPECT_EQ(halide::make_target()->supports(graph, NodeId(0), {}).because, "");
  std::mt19937 random(1);
  std::vector<double> elements;
  for (int64_t i = 0; i < rows * features; ++i)
    elements.push_back(random() % 8 == 0 ? std::nan("") : static_cast<double>(random() % 7) - 3);
  Tensor flat = tensor_of(dtype, elements);
  const Tensor x(TensorView{flat.data(), dtype, {rows, features}}, flat.owner());
  const auto region = LoadedRegion::make(graph, {2, "native", {}}, {});
  ASSERT_TRUE(region) << region.error().message;
  TestTeam threads(2);
  const auto want = run_reference(graph, {x});
  ASSERT_TRUE(want) << want.error().message;
  for (bool at_end : {true, false}) {
    const auto got = (*region)->run_guarded({x}, at_end);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view(), 1e-4, 1e-5), "");
  }
  const auto got = (*region)->run({x}, &threads);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view(), 1e-4, 1e-5), "");
}

TEST(HalideTrees, OfEveryTestAgreeWithReference) {
  for (int64_t mode = -1; mode <= 6; ++mode) {
    SCOPED_TRACE(fmt::format("mode {}", mode));
    for (const DType dtype : {DType::f32, DType::f64})
      expect_equal(graph_of(RandomTrees(7, dtype, mode).make(9, 20), dtype, 100), dtype, 100);
  }
}

TEST(HalideTrees, AggregatesAndTransformsAgreeWithReference) {
  for (int64_t aggregate = 0; aggregate <= 3; ++aggregate)
    for (int64_t transform = 0; transform <= 3; ++transform) {
      SCOPED_TRACE(fmt::format("aggregate {}, transform {}", aggregate, transform));
      Attributes attributes = RandomTrees(3, DType::f32, 0).make(40, 12);
      attributes.set("aggregate_function", aggregate);
      attributes.set("post_transform", transform);
      for (const int64_t rows : {1, 37})
        expect_equal(graph_of(attributes, DType::f32, rows), DType::f32, rows);
    }
}

TEST(HalideTrees, DamagedAttributesAreRefused) {
  const struct {
    const char* attribute;
    std::vector<int64_t> numbers;
  } damages[] = {{"nodes_truenodeids", {77}},      {"nodes_featureids", {features}}, {"tree_roots", {9}},
                 {"leaf_targetids", {targets, 0}}, {"nodes_falseleafs", {0}},        {"tree_roots", {}}};
  for (const auto& [name, numbers] : damages) {
    Attributes attributes = RandomTrees(3, DType::f32, 0).make(1, 1);
    ASSERT_TRUE(halide::make_target()->supports(graph_of(attributes, DType::f32, 2), NodeId(0), {}).yes);
    attributes.set(name, numbers);
    EXPECT_FALSE(halide::make_target()->supports(graph_of(attributes, DType::f32, 2), NodeId(0), {}).yes)
        << name;
  }
}

}  // namespace
}  // namespace intarsia::test
