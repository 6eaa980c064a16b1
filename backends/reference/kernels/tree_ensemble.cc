#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "backends/reference/kernels/machine_learning.h"
#include "backends/reference/kernels/move.h"
#include "base/decision_trees.h"

namespace intarsia::reference {
namespace {

bool passes(const TreeNode& node, double value) {
  if (std::isnan(value) && node.missing_is_true) return true;
  switch (node.test) {
    case TreeTest::less_equal:
      return value <= node.split;
    case TreeTest::less:
      return value < node.split;
    case TreeTest::greater_equal:
      return value >= node.split;
    case TreeTest::greater:
      return value > node.split;
    case TreeTest::equal:
      return value == node.split;
    case TreeTest::not_equal:
      return value != node.split;
    case TreeTest::member:
      break;
  }
  return std::ranges::find(node.members, value) != node.members.end();
}

template <typename T>
const std::vector<LeafWeight>& find_leaf(const DecisionTrees& trees, TreeReference at, const T* row) {
  while (!at.is_leaf) {
    const TreeNode& node = trees.nodes[static_cast<size_t>(at.number)];
    at = node.next[passes(node, static_cast<double>(row[node.feature])) ? 1 : 0];
  }
  return trees.leaves[static_cast<size_t>(at.number)];
}

void add_weight(double& total, double weight, TreeAggregate how, size_t trees) {
  if (how == TreeAggregate::average) total += weight / static_cast<double>(trees);
  if (how == TreeAggregate::sum) total += weight;
  if (how == TreeAggregate::minimum) total = std::min(total, weight);
  if (how == TreeAggregate::maximum) total = std::max(total, weight);
}

/// Transforms of scores, numbered as in the attribute post_transform of TreeEnsemble.
enum class Transform : uint8_t { none, softmax, logistic, softmax_of_nonzero, probit };

/// Returns the probit of a probability, by Winitzki's approximation of the inverse of erf.
double probit(double probability) {
  const double x = 2 * probability - 1, log = std::log((1 - x) * (1 + x));
  const double v = 2 / (std::numbers::pi * 0.147) + log / 2;
  return std::numbers::sqrt2 * (x < 0 ? -1 : 1) * std::sqrt(std::sqrt(v * v - log / 0.147) - v);
}

void transform_scores(std::vector<double>& scores, Transform transform) {
  for (double& score : scores) {
    if (transform == Transform::logistic) score = 1 / (1 + std::exp(-score));
    if (transform == Transform::probit) score = probit(score);
  }
  if (transform != Transform::softmax && transform != Transform::softmax_of_nonzero) return;
  const double largest = std::ranges::max(scores);
  double sum = 0;
  for (double& score : scores) {
    if (transform == Transform::softmax_of_nonzero && score == 0) continue;
    score = std::exp(score - largest);
    sum += score;
  }
  for (double& score : scores) score /= sum == 0 ? 1 : sum;
}

/// Computes transformed sums of weights for each row of T.
template <typename T>
void sum_weights(const ConstTensorView& x, const DecisionTrees& trees, Transform transform,
                 const TensorView& y) {
  const double start = trees.aggregate == TreeAggregate::minimum   ? std::numeric_limits<double>::max()
                       : trees.aggregate == TreeAggregate::maximum ? std::numeric_limits<double>::lowest()
                                                                   : 0;
  // Targets that no leaf names stay at the largest or smallest number of the output's own type.
  const double limit = std::numeric_limits<T>::max();
  const ReadAs<T> in(x);
  WriteAs<double> out(y);
  std::vector<double> scores(static_cast<size_t>(trees.targets));
  for (int64_t row = 0; row < y.shape[0]; ++row) {
    std::ranges::fill(scores, start);
    for (const TreeReference& root : trees.roots)
      for (const auto& [target, weight] : find_leaf(trees, root, in.data() + row * x.shape[1]))
        add_weight(scores[static_cast<size_t>(target)], weight, trees.aggregate, trees.roots.size());
    for (size_t i = 0; i < trees.base_values.size(); ++i) scores[i] += trees.base_values[i];
    transform_scores(scores, transform);
    for (size_t i = 0; i < scores.size(); ++i)
      out[row * trees.targets + static_cast<int64_t>(i)] = std::clamp(scores[i], -limit, limit);
  }
}

/// Computes the output for an input of numbers.
Status sum_weights(KernelContext& context, const DecisionTrees& trees, DType dtype, Transform transform) {
  const ConstTensorView& x = context.input(0);
  if (!is_number(x.dtype)) return unsupported(x.dtype);
  const Shape shape = {x.shape[0], trees.targets};
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, dtype, shape));
  if (x.dtype == DType::f64)
    sum_weights<double>(x, trees, transform, y);
  else
    sum_weights<float>(x, trees, transform, y);
  return {};
}

}  // namespace

Status tree_ensemble(KernelContext& context) {
  TRY(require_inputs(context, 1));
  TRY(require_rank(context, 0, 2));
  const ConstTensorView& x = context.input(0);
  const DecisionTrees trees = TRY(read_tree_ensemble(context.attributes(), x.shape[1]));
  const int64_t transform = context.attributes().get_int("post_transform", 0);
  if (transform < 0 || transform > 4) return fail("post_transform is {}", transform);
  return sum_weights(context, trees, x.dtype, static_cast<Transform>(transform));
}

Status tree_regressor(KernelContext& context) {
  constexpr auto names =
      std::to_array<std::string_view>({"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"});
  TRY(require_inputs(context, 1));
  TRY(require_rank(context, 0, 2));
  const DecisionTrees trees = TRY(read_tree_regressor(context.attributes(), context.input(0).shape[1]));
  const std::string name = context.attributes().get_string("post_transform", "NONE");
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return fail("post_transform is '{}'", name);
  return sum_weights(context, trees, DType::f32, static_cast<Transform>(at - names.begin()));
}

}  // namespace intarsia::reference
