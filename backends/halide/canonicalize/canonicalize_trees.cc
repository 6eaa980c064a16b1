// Ensembles of decision trees. Every test becomes one or more of the kind "at most", and a leaf a node that
// is its own successor (routines/trees.cc).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <span>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/routines/tree_table.h"
#include "base/decision_trees.h"

namespace intarsia::halide {
namespace {

/// Nodes as the kernel has them, each tree's in one place, level after level.
template <typename T>
class TreeWriter {
 public:
  explicit TreeWriter(const DecisionTrees& trees) : from_(trees) {
    for (const TreeReference& root : trees.roots) write_tree(root);
  }

  Tensor table() const {
    std::vector<routines::PackedLeafWeight<T>> weights;
    std::vector<int32_t> first_weights;
    for (int64_t leaf : leaves_) {
      first_weights.push_back(to_i32(weights.size()));
      if (leaf == no_leaf) continue;
      for (const auto& [target, weight] : from_.leaves[static_cast<size_t>(leaf)])
        weights.push_back({static_cast<T>(weight), static_cast<int32_t>(target)});
    }
    first_weights.push_back(to_i32(weights.size()));
    const bool has_missing = std::ranges::any_of(
        nodes_, [](const auto& node) { return (node.test & routines::tree_missing) != 0; });
    const routines::TreeTable sizes{to_i32(trees_.size()), to_i32(nodes_.size()), to_i32(weights.size()),
                                    int32_t{has_missing},  int32_t{is_single()},  {}};
    return join(std::span(&sizes, 1), std::span(nodes_), std::span(weights), std::span(first_weights),
                std::span(trees_));
  }

 private:
  static constexpr int64_t no_leaf = -1;

  struct Open {
    TreeReference from;
    size_t to;
    int32_t level;
  };

  static int32_t to_i32(size_t number) { return static_cast<int32_t>(number); }

  /// Puts arrays one after the other.
  static Tensor join(const auto&... parts) {
    Tensor words(DType::i32, {static_cast<int64_t>((parts.size_bytes() + ...) / sizeof(int32_t))});
    auto* to = static_cast<std::byte*>(words.data());
    ((std::memcpy(to, parts.data(), parts.size_bytes()), to += parts.size_bytes()), ...);
    return words;
  }

  bool is_single() const {
    return from_.targets == 1 &&
           std::ranges::all_of(from_.leaves, [](const auto& weights) { return weights.size() == 1; });
  }

  /// Returns the greatest number that is less; NaN, than which nothing is at most, if there is none.
  static T below(T number) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return number == -infinity ? std::numeric_limits<T>::quiet_NaN() : std::nextafter(number, -infinity);
  }

  void write_tree(const TreeReference& root) {
    trees_.push_back({to_i32(nodes_.size()), 0});
    open_.push_back({root, add_node(), 0});
    for (; !open_.empty(); open_.pop_front()) {
      const Open next = open_.front();
      trees_.back().depth = std::max(trees_.back().depth, next.level);
      if (next.from.is_leaf)
        write_leaf(next.from.number, next.to);
      else
        write_test(from_.nodes[static_cast<size_t>(next.from.number)], next.to, next.level);
    }
  }

  void write_leaf(int64_t leaf, size_t at) {
    leaves_[at] = leaf;
    if (is_single_) nodes_[at].split = static_cast<T>(from_.leaves[static_cast<size_t>(leaf)][0].weight);
  }

  /// Adds a node, its own successor until it is written, and returns its number.
  size_t add_node() {
    nodes_.push_back({0, 0, to_i32(nodes_.size())});
    leaves_.push_back(no_leaf);
    return nodes_.size() - 1;
  }

  /// Writes a test at a node and adds its two successors, of which it returns the first.
  size_t write_split(size_t at, int64_t feature, T split, bool missing_passes) {
    const size_t next = add_node();
    add_node();
    const int32_t missing = missing_passes ? routines::tree_missing : 0;
    nodes_[at] = {split, static_cast<int32_t>(4 * feature) + missing + routines::tree_branch, to_i32(next)};
    return next;
  }

  /// Makes a node go to another one whatever it tests.
  void write_jump(size_t at, size_t to) {
    nodes_[at] = {std::numeric_limits<T>::quiet_NaN(), routines::tree_branch, to_i32(to)};
  }

  void write_limit(size_t at, const TreeNode& node, T split, bool missing_passes,
                   const TreeReference& greater, const TreeReference& at_most, int32_t level) {
    const size_t next = write_split(at, node.feature, split, missing_passes);
    open_.push_back({greater, next, level + 1});
    open_.push_back({at_most, next + 1, level + 1});
  }

  void write_test(const TreeNode& node, size_t at, int32_t level) {
    const TreeReference &no = node.next[0], &yes = node.next[1];
    const auto split = static_cast<T>(node.split);
    const bool missing = node.missing_is_true;
    switch (node.test) {
      case TreeTest::less_equal:
        return write_limit(at, node, split, missing, no, yes, level);
      case TreeTest::less:
        return write_limit(at, node, below(split), missing, no, yes, level);
      case TreeTest::greater:  // of swapped sides: NaN goes to what is now the second
        return write_limit(at, node, split, !missing, yes, no, level);
      case TreeTest::greater_equal:
        return write_limit(at, node, below(split), !missing, yes, no, level);
      case TreeTest::equal:
        return write_members(at, node, std::array{split}, missing, no, yes, level);
      case TreeTest::not_equal:
        return write_members(at, node, std::array{split}, false, yes, no, level);
      case TreeTest::member: {
        std::vector<T> members(node.members.begin(), node.members.end());
        if (members.empty()) members.push_back(std::numeric_limits<T>::quiet_NaN());
        return write_members(at, node, members, missing, no, yes, level);
      }
    }
  }

  /// Writes tests for numbers: what is at most a number goes on to whether it is at most the one below.
  void write_members(size_t at, const TreeNode& node, std::span<const T> members, bool missing,
                     const TreeReference& no, const TreeReference& yes, int32_t level) {
    const int32_t last = level + 3 * static_cast<int32_t>(members.size());  // a jump is a step, too
    std::optional<size_t> found;
    for (T member : members) {
      const size_t next = write_split(at, node.feature, member, missing),
                   equal = write_split(next + 1, node.feature, below(member), false);
      if (found)
        write_jump(equal, *found);
      else
        open_.push_back({yes, equal, last}), found = equal;
      write_jump(equal + 1, next);
      at = next;
    }
    open_.push_back({no, at, last});
  }

  const DecisionTrees& from_;
  const bool is_single_ = is_single();
  std::vector<routines::PackedTreeNode<T>> nodes_;
  std::vector<int64_t> leaves_;  // of each node
  std::vector<routines::PackedTree> trees_;
  std::deque<Open> open_;
};

/// Emits sums of weights, in the type of the elements.
ValueId emit_trees(Rewriter& r, const DecisionTrees& trees) {
  const DType dtype = r.dtype(r.in(0));
  const ValueId table = r.add_constant(dtype == DType::f64 ? TreeWriter<double>(trees).table()
                                                           : TreeWriter<float>(trees).table());
  return r.emit(CoreOp::tree_ensemble, {r.in(0), table}, dtype, r.out_sizes(),
                TreeAttributes{static_cast<int64_t>(trees.aggregate)});
}

/// Returns the number of features of rows of floats.
Result<int64_t> features_of(Rewriter& r) {
  TRY(require_floats(r));
  const SymbolicShape& x = r.sizes(r.in(0));
  constexpr int64_t most_features = 1 << 28;  // a node has them times 4, in 32 bits
  if (x.size() != 2 || !x[1].is_number() || x[1].number() > most_features)
    return fail("{} of {}", r.node().op, print_shape(x));
  return x[1].number();
}

/// Returns scores after the attribute post_transform: 0 none, 1 softmax, 2 logistic, 3 softmax of those that
/// are not 0.
Result<ValueId> transformed(Rewriter& r, ValueId scores, int64_t transform) {
  if (transform == 0) return scores;
  if (transform == 2) return r.emit_elementwise(CoreOp::sigmoid, {scores});
  if (transform != 1 && transform != 3) return fail("TreeEnsemble: post_transform is {}", transform);
  const SymbolicShape rows{r.sizes(scores)[0], 1};
  const DType dtype = r.dtype(scores);
  const auto reduced = [&](CoreOp op, ValueId x) {
    return r.emit(op, {x}, dtype, rows, ReductionAttributes{{1}});
  };
  const auto is_zero = [&](ValueId x) {
    return r.emit(CoreOp::equal, {x, r.add_scalar(0, dtype)}, DType::boolean, r.sizes(x));
  };
  const ValueId shifted = r.emit_elementwise(CoreOp::sub, {scores, reduced(CoreOp::reduce_max, scores)});
  ValueId parts = r.emit_elementwise(CoreOp::exp, {shifted}, ExpAttributes{.nonpositive = true});
  if (transform == 3)
    parts = r.emit(CoreOp::where, {is_zero(scores), r.add_scalar(0, dtype), parts}, dtype, r.sizes(scores));
  ValueId sum = reduced(CoreOp::reduce_sum, parts);
  if (transform == 3) sum = r.emit(CoreOp::where, {is_zero(sum), r.add_scalar(1, dtype), sum}, dtype, rows);
  return r.emit_elementwise(CoreOp::div, {parts, sum});
}

Status tree_ensemble(Rewriter& r) {
  const DecisionTrees trees =
      TRY(with_context(read_tree_ensemble(r.attributes(), TRY(features_of(r))), "TreeEnsemble"));
  r.set_output(0, TRY(transformed(r, emit_trees(r, trees), r.attributes().get_int("post_transform", 0))));
  return {};
}

/// Rewrites a TreeEnsembleRegressor that only sums; its translation makes others of it.
Status tree_regressor(Rewriter& r) {
  const DecisionTrees trees =
      TRY(with_context(read_tree_regressor(r.attributes(), TRY(features_of(r))), "TreeEnsembleRegressor"));
  if (!trees.base_values.empty() || r.attributes().get_string("post_transform", "NONE") != "NONE")
    return fail("TreeEnsembleRegressor with base_values or post_transform");
  r.set_output(0, r.converted(emit_trees(r, trees), DType::f32));
  return {};
}

constexpr std::array tree_rule_list = std::to_array<RuleEntry>({
    {"TreeEnsemble", tree_ensemble},
    {"TreeEnsembleRegressor", tree_regressor},
});

}  // namespace

std::span<const RuleEntry> tree_rules() { return tree_rule_list; }

}  // namespace intarsia::halide
