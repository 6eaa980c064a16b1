#include "base/decision_trees.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

namespace intarsia {
namespace {

template <typename T>
std::vector<double> to_doubles(const Tensor& tensor) {
  const auto numbers = tensor.as<T>();
  return {numbers.begin(), numbers.end()};
}

/// Returns the numbers of an attribute that is a tensor, or of `floats`, its form as a list.
Result<std::vector<double>> numbers_of(const Attributes& attributes, std::string_view tensor_name,
                                       std::string_view floats = {}) {
  const Tensor* tensor = attributes.get_tensor(tensor_name);
  if (tensor == nullptr) {
    const std::vector<float> list = attributes.get_floats(floats);
    return std::vector<double>(list.begin(), list.end());
  }
  if (tensor->dtype() == DType::f32) return to_doubles<float>(*tensor);
  if (tensor->dtype() == DType::f64) return to_doubles<double>(*tensor);
  if (tensor->dtype() == DType::u8) return to_doubles<uint8_t>(*tensor);
  return fail("{} has dtype {}", tensor_name, dtype_name(tensor->dtype()));
}

bool are_below(const std::vector<int64_t>& numbers, int64_t limit) {
  return std::ranges::all_of(numbers, [=](int64_t number) { return number >= 0 && number < limit; });
}

/// Gives the sets of numbers, each ended by NaN, to the tests for members, in the order in which a walk from
/// the roots, true side first, meets them. Fails if a node is met twice.
Status walk_nodes(DecisionTrees& trees, const std::vector<double>& members) {
  auto next = members.begin();
  std::vector<bool> met(trees.nodes.size());
  std::vector<TreeReference> open(trees.roots.rbegin(), trees.roots.rend());
  while (!open.empty()) {
    const TreeReference at = open.back();
    open.pop_back();
    if (at.is_leaf) continue;
    const auto number = static_cast<size_t>(at.number);
    if (met[number]) return fail("node {} is reached twice", number);
    met[number] = true;
    TreeNode& node = trees.nodes[number];
    if (node.test == TreeTest::member) {
      if (next == members.end()) return fail("node {} has no membership values", number);
      const auto end = std::find_if(next, members.end(), [](double member) { return std::isnan(member); });
      node.members.assign(next, end);
      next = end == members.end() ? end : end + 1;
    }
    for (const TreeReference& to : node.next) open.push_back(to);
  }
  return {};
}

Status read_nodes(const Attributes& attributes, DecisionTrees& trees, int64_t features) {
  const std::vector<double> modes = TRY(numbers_of(attributes, "nodes_modes")),
                            splits = TRY(numbers_of(attributes, "nodes_splits"));
  const size_t count = modes.size();
  const std::vector<int64_t> feature = attributes.get_ints("nodes_featureids"),
                             missing = attributes.get_ints("nodes_missing_value_tracks_true",
                                                           std::vector<int64_t>(count, 0)),
                             next[] = {attributes.get_ints("nodes_falsenodeids"),
                                       attributes.get_ints("nodes_truenodeids")},
                             leaf[] = {attributes.get_ints("nodes_falseleafs"),
                                       attributes.get_ints("nodes_trueleafs")};
  for (size_t size : {splits.size(), feature.size(), missing.size(), next[0].size(), next[1].size(),
                      leaf[0].size(), leaf[1].size()})
    if (size != count) return fail("the attributes of the nodes have {} and {} entries", count, size);
  for (size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6) || feature[i] < 0 || feature[i] >= features)
      return fail("node {} has mode {} and feature {} of {}", i, modes[i], feature[i], features);
    TreeNode node{
        static_cast<TreeTest>(static_cast<int>(modes[i])), feature[i], splits[i], missing[i] != 0, {}, {}};
    for (int side : {0, 1}) {
      node.next[side] = {leaf[side][i] != 0, next[side][i]};
      const size_t limit = node.next[side].is_leaf ? trees.leaves.size() : count;
      if (next[side][i] < 0 || static_cast<size_t>(next[side][i]) >= limit)
        return fail("node {} goes to {} of {}", i, next[side][i], limit);
    }
    trees.nodes.push_back(std::move(node));
  }
  return {};
}

/// Lists that a TreeEnsembleRegressor has for its nodes, leaves included. A node has the number of its tree
/// and one within the tree.
struct NodeLists {
  std::vector<int64_t> trees, numbers, features, missing, next[2];
  std::vector<double> splits;
  std::vector<std::string> modes;
};

constexpr std::string_view leaf_mode = "LEAF";

Result<NodeLists> read_lists(const Attributes& attributes) {
  NodeLists lists;
  lists.trees = attributes.get_ints("nodes_treeids");
  lists.numbers = attributes.get_ints("nodes_nodeids");
  lists.features = attributes.get_ints("nodes_featureids");
  lists.next[0] = attributes.get_ints("nodes_falsenodeids");
  lists.next[1] = attributes.get_ints("nodes_truenodeids");
  lists.splits = TRY(numbers_of(attributes, "nodes_values_as_tensor", "nodes_values"));
  lists.modes = attributes.get_strings("nodes_modes");
  const size_t count = lists.trees.size();
  lists.missing = attributes.get_ints("nodes_missing_value_tracks_true", std::vector<int64_t>(count, 0));
  for (size_t size : {lists.numbers.size(), lists.features.size(), lists.missing.size(), lists.next[0].size(),
                      lists.next[1].size(), lists.splits.size(), lists.modes.size()})
    if (size != count) return fail("the attributes of the nodes have {} and {} entries", count, size);
  return lists;
}

Result<TreeTest> test_of(const std::string& mode) {
  constexpr auto names = std::to_array<std::string_view>(
      {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"});
  const auto at = std::ranges::find(names, mode);
  if (at == names.end()) return fail("mode '{}' of a node", mode);
  return static_cast<TreeTest>(at - names.begin());
}

/// Reader of nodes and leaves that are in one list.
class RegressorReader {
 public:
  RegressorReader(const Attributes& attributes, NodeLists lists)
      : attributes_(attributes), lists_(std::move(lists)) {}

  Result<DecisionTrees> read(int64_t features) {
    for (size_t i = 0; i < lists_.trees.size(); ++i) {
      const bool is_leaf = lists_.modes[i] == leaf_mode;
      const auto number = static_cast<int64_t>(is_leaf ? leaves_++ : nodes_++);
      if (!places_.try_emplace({lists_.trees[i], lists_.numbers[i]}, TreeReference{is_leaf, number}).second)
        return fail("tree {} has two nodes {}", lists_.trees[i], lists_.numbers[i]);
    }
    TRY(read_nodes(features));
    TRY(read_roots());
    TRY(read_weights());
    return std::move(trees_);
  }

 private:
  using Name = std::pair<int64_t, int64_t>;  // tree, node

  Result<TreeReference> find(const Name& name) const {
    const auto at = places_.find(name);
    if (at == places_.end()) return fail("tree {} has no node {}", name.first, name.second);
    return at->second;
  }

  Status read_nodes(int64_t features) {
    for (size_t i = 0; i < lists_.trees.size(); ++i) {
      if (lists_.modes[i] == leaf_mode) continue;
      TreeNode node{TRY(test_of(lists_.modes[i])),
                    lists_.features[i],
                    lists_.splits[i],
                    lists_.missing[i] != 0,
                    {},
                    {}};
      if (node.feature < 0 || node.feature >= features)
        return fail("node {} of tree {} has feature {} of {}", lists_.numbers[i], lists_.trees[i],
                    node.feature, features);
      for (int side : {0, 1}) {
        const Name next{lists_.trees[i], lists_.next[side][i]};
        node.next[side] = TRY(find(next));
        if (!reached_.insert(next).second)
          return fail("node {} of tree {} is reached twice", next.second, next.first);
      }
      trees_.nodes.push_back(std::move(node));
    }
    return {};
  }

  /// Finds the node of each tree that no other goes to.
  Status read_roots() {
    std::set<int64_t> rooted;
    for (const auto& [name, place] : places_) {
      if (reached_.contains(name)) continue;
      if (!rooted.insert(name.first).second) return fail("tree {} has two roots", name.first);
      trees_.roots.push_back(place);
    }
    for (int64_t tree : lists_.trees)
      if (!rooted.contains(tree)) return fail("tree {} has no root", tree);
    if (trees_.roots.empty()) return fail("it has no trees");
    const size_t met = count_nodes();
    return met == places_.size() ? Status() : fail("{} nodes are in loops", places_.size() - met);
  }

  /// Counts the nodes and leaves that the roots lead to; each is reached once at most.
  size_t count_nodes() const {
    size_t met = 0;
    std::vector<TreeReference> open = trees_.roots;
    for (; !open.empty(); ++met) {
      const TreeReference at = open.back();
      open.pop_back();
      if (at.is_leaf) continue;
      const TreeNode& node = trees_.nodes[static_cast<size_t>(at.number)];
      open.insert(open.end(), std::begin(node.next), std::end(node.next));
    }
    return met;
  }

  Status read_weights() {
    trees_.leaves.resize(leaves_);
    trees_.targets = attributes_.get_int("n_targets", 1);
    const std::vector<int64_t> trees = attributes_.get_ints("target_treeids"),
                               nodes = attributes_.get_ints("target_nodeids"),
                               targets = attributes_.get_ints("target_ids");
    const std::vector<double> weights =
        TRY(numbers_of(attributes_, "target_weights_as_tensor", "target_weights"));
    if (trees.size() != weights.size() || nodes.size() != weights.size() || targets.size() != weights.size())
      return fail("{} weights for {} nodes and {} targets", weights.size(), nodes.size(), targets.size());
    if (trees_.targets < 1 || !are_below(targets, trees_.targets))
      return fail("a weight is for none of {} targets", trees_.targets);
    for (size_t i = 0; i < weights.size(); ++i) {
      const TreeReference leaf = TRY(find({trees[i], nodes[i]}));
      if (!leaf.is_leaf) return fail("node {} of tree {} has a weight and is not a leaf", nodes[i], trees[i]);
      trees_.leaves[static_cast<size_t>(leaf.number)].push_back({targets[i], weights[i]});
    }
    return {};
  }

  const Attributes& attributes_;
  const NodeLists lists_;
  std::map<Name, TreeReference> places_;
  std::set<Name> reached_;
  size_t nodes_ = 0, leaves_ = 0;
  DecisionTrees trees_;
};

Result<TreeAggregate> aggregate_of(const std::string& name) {
  constexpr auto names = std::to_array<std::string_view>({"AVERAGE", "SUM", "MIN", "MAX"});
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return fail("aggregate_function {}", name);
  return static_cast<TreeAggregate>(at - names.begin());
}

/// Collects the targets that every walk from a node gets a weight for.
void keep_weighted(const DecisionTrees& trees, const TreeReference& root, std::vector<bool>& weighted) {
  std::vector<TreeReference> open{root};
  while (!open.empty()) {
    const TreeReference at = open.back();
    open.pop_back();
    const auto number = static_cast<size_t>(at.number);
    if (!at.is_leaf) {
      open.insert(open.end(), std::begin(trees.nodes[number].next), std::end(trees.nodes[number].next));
      continue;
    }
    std::vector<bool> here(weighted.size());
    for (const LeafWeight& leaf : trees.leaves[number]) here[static_cast<size_t>(leaf.target)] = true;
    for (size_t t = 0; t < weighted.size(); ++t) weighted[t] = weighted[t] && here[t];
  }
}

}  // namespace

std::vector<bool> always_weighted(const DecisionTrees& trees) {
  std::vector<bool> all(static_cast<size_t>(trees.targets));
  for (const TreeReference& root : trees.roots) {
    std::vector<bool> of_tree(all.size(), true);
    keep_weighted(trees, root, of_tree);
    for (size_t t = 0; t < all.size(); ++t) all[t] = all[t] || of_tree[t];
  }
  return all;
}

Result<DecisionTrees> read_tree_ensemble(const Attributes& attributes, int64_t features) {
  DecisionTrees trees;
  trees.targets = attributes.get_int("n_targets", 1);
  const int64_t aggregate = attributes.get_int("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3) return fail("aggregate_function {}", aggregate);
  trees.aggregate = static_cast<TreeAggregate>(aggregate);
  const std::vector<double> weights = TRY(numbers_of(attributes, "leaf_weights"));
  const std::vector<int64_t> targets = attributes.get_ints("leaf_targetids"),
                             roots = attributes.get_ints("tree_roots");
  if (trees.targets < 1 || targets.size() != weights.size() || !are_below(targets, trees.targets))
    return fail("{} targets of {} weights, each below {}", targets.size(), weights.size(), trees.targets);
  for (size_t i = 0; i < weights.size(); ++i) trees.leaves.push_back({{targets[i], weights[i]}});
  TRY(read_nodes(attributes, trees, features));
  if (roots.empty() || !are_below(roots, std::ssize(trees.nodes)))
    return fail("{} roots of {} nodes", roots.size(), trees.nodes.size());
  for (int64_t root : roots) trees.roots.push_back({false, root});
  TRY(walk_nodes(trees, TRY(numbers_of(attributes, "membership_values"))));
  return trees;
}

Result<DecisionTrees> read_tree_regressor(const Attributes& attributes, int64_t features) {
  DecisionTrees trees = TRY(RegressorReader(attributes, TRY(read_lists(attributes))).read(features));
  trees.aggregate = TRY(aggregate_of(attributes.get_string("aggregate_function", "SUM")));
  trees.base_values = TRY(numbers_of(attributes, "base_values_as_tensor", "base_values"));
  if (!trees.base_values.empty() && std::ssize(trees.base_values) != trees.targets)
    return fail("{} base_values for {} targets", trees.base_values.size(), trees.targets);
  const bool is_limit =
      trees.aggregate == TreeAggregate::minimum || trees.aggregate == TreeAggregate::maximum;
  if (!is_limit) return trees;
  if (const std::vector<bool> weighted = always_weighted(trees);
      std::ranges::find(weighted, false) != weighted.end())
    return fail("a target of aggregate_function {} may get no weight",
                attributes.get_string("aggregate_function", ""));
  return trees;
}

}  // namespace intarsia
