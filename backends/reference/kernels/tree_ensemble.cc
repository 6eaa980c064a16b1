#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/reference/kernels/machine_learning.h"
#include "backends/reference/kernels/move.h"

namespace intarsia::reference {
namespace {

/// Tests, numbered as in the attribute nodes_modes.
enum class Test : uint8_t { less_equal, less, greater_equal, greater, equal, not_equal, member };

struct TreeNode {
  Test test = Test::less_equal;
  bool missing_is_true = false;
  bool leaf[2] = {true, true};  // whether the next is a leaf: if false, if true
  int64_t next[2] = {0, 0};
  int64_t feature = 0;
  double split = 0;
  std::vector<double> members;
};

struct Ensemble {
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;
  std::vector<int64_t> targets;  // targets of the leaves
  std::vector<double> weights;
  int64_t target_count = 1;
};

Result<std::vector<double>> tensor_numbers(const Attributes& attributes, std::string_view name) {
  const Tensor* tensor = attributes.get_tensor(name);
  if (tensor == nullptr) return std::vector<double>();
  if (!is_number(tensor->dtype())) return fail("{} has dtype {}", name, dtype_name(tensor->dtype()));
  const ReadAs<double> values(tensor->view());
  return std::vector<double>(values.begin(), values.end());
}

Status read_nodes(const Attributes& attributes, Ensemble& ensemble) {
  const std::vector<double> modes = TRY(tensor_numbers(attributes, "nodes_modes"));
  const std::vector<double> splits = TRY(tensor_numbers(attributes, "nodes_splits"));
  const std::vector<int64_t> features = attributes.get_ints("nodes_featureids");
  const std::vector<int64_t> missing = attributes.get_ints("nodes_missing_value_tracks_true");
  const std::vector<int64_t> next[2] = {attributes.get_ints("nodes_falsenodeids"),
                                        attributes.get_ints("nodes_truenodeids")};
  const std::vector<int64_t> leaf[2] = {attributes.get_ints("nodes_falseleafs"),
                                        attributes.get_ints("nodes_trueleafs")};
  const size_t count = modes.size();
  for (size_t size : {splits.size(), features.size(), next[0].size(), next[1].size(), leaf[0].size(),
                      leaf[1].size(), missing.empty() ? count : missing.size()}) {
    if (size != count) return fail("the attributes of the nodes have {} and {} entries", count, size);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6)) return fail("mode {} of node {}", modes[i], i);
    TreeNode node{static_cast<Test>(static_cast<int>(modes[i])),
                  !missing.empty() && missing[i] != 0,
                  {},
                  {},
                  features[i],
                  splits[i],
                  {}};
    for (int side : {0, 1}) {
      node.next[side] = next[side][i];
      node.leaf[side] = leaf[side][i] != 0;
      const size_t limit = node.leaf[side] ? ensemble.weights.size() : count;
      if (node.next[side] < 0 || static_cast<size_t>(node.next[side]) >= limit) {
        return fail("node {} goes to {} of {}", i, node.next[side], limit);
      }
    }
    ensemble.nodes.push_back(std::move(node));
  }
  return {};
}

/// Assigns the sets, each ended by NaN, to the member tests in the order in which a walk from the roots, true
/// side first, meets them.
Status assign_members(Ensemble& ensemble, const std::vector<double>& values) {
  size_t at = 0;
  std::vector<bool> seen(ensemble.nodes.size());
  std::vector<int64_t> open(ensemble.roots.rbegin(), ensemble.roots.rend());
  while (!open.empty()) {
    const auto number = static_cast<size_t>(open.back());
    open.pop_back();
    if (seen[number]) return fail("node {} is reached twice", number);
    seen[number] = true;
    TreeNode& node = ensemble.nodes[number];
    if (node.test == Test::member) {
      if (at >= values.size()) return fail("node {} has no membership values", number);
      for (; at < values.size() && !std::isnan(values[at]); ++at) node.members.push_back(values[at]);
      ++at;
    }
    for (int side : {0, 1}) {
      if (!node.leaf[side]) open.push_back(node.next[side]);
    }
  }
  return {};
}

Result<Ensemble> read_ensemble(const Attributes& attributes) {
  Ensemble ensemble;
  ensemble.weights = TRY(tensor_numbers(attributes, "leaf_weights"));
  ensemble.targets = attributes.get_ints("leaf_targetids");
  ensemble.roots = attributes.get_ints("tree_roots");
  ensemble.target_count = attributes.get_int("n_targets", 1);
  if (ensemble.target_count < 1 || ensemble.targets.size() != ensemble.weights.size()) {
    return fail("{} leaf targets, {} weights, {} targets", ensemble.targets.size(), ensemble.weights.size(),
                ensemble.target_count);
  }
  for (int64_t target : ensemble.targets) {
    if (target < 0 || target >= ensemble.target_count) return fail("leaf target {}", target);
  }
  TRY(read_nodes(attributes, ensemble));
  for (int64_t root : ensemble.roots) {
    if (root < 0 || static_cast<size_t>(root) >= ensemble.nodes.size()) return fail("tree root {}", root);
  }
  TRY(assign_members(ensemble, TRY(tensor_numbers(attributes, "membership_values"))));
  return ensemble;
}

bool passes(const TreeNode& node, double value) {
  if (std::isnan(value) && node.missing_is_true) return true;
  switch (node.test) {
    case Test::less_equal:
      return value <= node.split;
    case Test::less:
      return value < node.split;
    case Test::greater_equal:
      return value >= node.split;
    case Test::greater:
      return value > node.split;
    case Test::equal:
      return value == node.split;
    case Test::not_equal:
      return value != node.split;
    case Test::member:
      break;
  }
  return std::ranges::find(node.members, value) != node.members.end();
}

template <typename T>
size_t find_leaf(const Ensemble& ensemble, int64_t root, const T* row) {
  // The walk ends, since no node is reached twice.
  const TreeNode* node = &ensemble.nodes[static_cast<size_t>(root)];
  while (true) {
    const int side = passes(*node, static_cast<double>(row[node->feature])) ? 1 : 0;
    if (node->leaf[side]) return static_cast<size_t>(node->next[side]);
    node = &ensemble.nodes[static_cast<size_t>(node->next[side])];
  }
}

enum class Aggregate { average, sum, minimum, maximum };

void add_tree(double& total, double weight, Aggregate how, size_t trees) {
  if (how == Aggregate::average) total += weight / static_cast<double>(trees);
  if (how == Aggregate::sum) total += weight;
  if (how == Aggregate::minimum) total = std::min(total, weight);
  if (how == Aggregate::maximum) total = std::max(total, weight);
}

/// Transforms scores, by numbers as in the attribute: 0 none, 1 softmax, 2 logistic, 3 softmax that skips
/// zeros.
Status transform_scores(std::vector<double>& scores, int64_t transform) {
  if (transform < 0 || transform > 3) return fail("post_transform {} is not supported", transform);
  if (transform == 2) {
    for (double& score : scores) score = 1 / (1 + std::exp(-score));
  }
  if (transform != 1 && transform != 3) return {};
  const double largest = std::ranges::max(scores);
  double sum = 0;
  for (double& score : scores) {
    if (transform == 3 && score == 0) continue;
    score = std::exp(score - largest);
    sum += score;
  }
  for (double& score : scores) score /= sum == 0 ? 1 : sum;
  return {};
}

}  // namespace

Status tree_ensemble(KernelContext& context) {
  TRY(require_inputs(context, 1));
  TRY(require_rank(context, 0, 2));
  const ConstTensorView& x = context.input(0);
  const Attributes& attributes = context.attributes();
  const Ensemble ensemble = TRY(read_ensemble(attributes));
  for (const TreeNode& node : ensemble.nodes) {
    if (node.feature < 0 || node.feature >= x.shape[1])
      return fail("feature {} of {}", node.feature, x.shape[1]);
  }
  const int64_t how = attributes.get_int("aggregate_function", 1);
  if (how < 0 || how > 3) return fail("aggregate_function is {}", how);
  const Shape shape = {x.shape[0], ensemble.target_count};
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  const double start = how == 2   ? std::numeric_limits<double>::max()
                       : how == 3 ? std::numeric_limits<double>::lowest()
                                  : 0;
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x);
    WriteAs<T> out(y);
    std::vector<double> scores(static_cast<size_t>(ensemble.target_count));
    for (int64_t row = 0; row < x.shape[0]; ++row) {
      std::ranges::fill(scores, start);
      for (int64_t root : ensemble.roots) {
        const size_t leaf = find_leaf(ensemble, root, in.data() + row * x.shape[1]);
        add_tree(scores[static_cast<size_t>(ensemble.targets[leaf])], ensemble.weights[leaf],
                 static_cast<Aggregate>(how), ensemble.roots.size());
      }
      TRY(transform_scores(scores, attributes.get_int("post_transform", 0)));
      for (size_t i = 0; i < scores.size(); ++i) {
        // Targets that no leaf names stay at the largest or smallest number of the output's own type.
        const double limit = std::numeric_limits<T>::max();
        out[row * ensemble.target_count + static_cast<int64_t>(i)] =
            static_cast<T>(std::clamp(scores[i], -limit, limit));
      }
    }
    return {};
  });
}

}  // namespace intarsia::reference
