// Sums of the leaves that rows reach in decision trees (tree_table.h). A leaf is its own successor, so that
// rows walk together, each tree as many steps as it is deep, without branches.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/halide/routines/routine.h"
#include "backends/halide/routines/tree_table.h"

namespace intarsia::halide::routines {
namespace {

constexpr int lanes = 32;  // walks at a time

/// Parts of a table.
template <typename T>
struct Trees {
  const TreeTable& sizes;
  const PackedTreeNode<T>* nodes;
  const PackedLeafWeight<T>* weights;
  const int32_t* first_weights;  // of each node, and one more
  const PackedTree* trees;

  explicit Trees(const int32_t* table)
      : sizes(*reinterpret_cast<const TreeTable*>(table)),
        nodes(reinterpret_cast<const PackedTreeNode<T>*>(&sizes + 1)),
        weights(reinterpret_cast<const PackedLeafWeight<T>*>(nodes + sizes.nodes)),
        first_weights(reinterpret_cast<const int32_t*>(weights + sizes.weights)),
        trees(reinterpret_cast<const PackedTree*>(first_weights + sizes.nodes + 1)) {}
};

template <bool has_missing, typename T>
void take_steps(const PackedTreeNode<T>* nodes, const T* x, int64_t step, const int64_t first[lanes],
                int depth, int32_t at[lanes]) {
  for (int d = 0; d < depth; ++d)
    for (int i = 0; i < lanes; ++i) {
      const PackedTreeNode<T>& node = nodes[at[i]];
      const T element = x[first[i] + (node.test >> 2) * step];
      int32_t passes = element <= node.split;
      if constexpr (has_missing)
        passes |= static_cast<int32_t>(element != element) & node.test / tree_missing;
      at[i] = node.next + (passes & node.test & tree_branch);
    }
}

/// Walks from nodes at[i] with elements of x from first[i], `step` apart.
template <typename T>
void walk(const Trees<T>& trees, const T* x, int64_t step, const int64_t first[lanes], int depth,
          int32_t at[lanes]) {
  if (trees.sizes.has_missing != 0)
    take_steps<true>(trees.nodes, x, step, first, depth, at);
  else
    take_steps<false>(trees.nodes, x, step, first, depth, at);
}

enum class Aggregate { average, sum, minimum, maximum };

inline void add_weight(double& score, double weight, Aggregate how, int trees) {
  if (how == Aggregate::minimum)
    score = std::min(score, weight);
  else if (how == Aggregate::maximum)
    score = std::max(score, weight);
  else
    score += how == Aggregate::average ? weight / trees : weight;
}

/// Adds the weights of a leaf.
template <typename T>
void add_leaf(const Trees<T>& trees, int32_t node, Aggregate how, double* scores) {
  if (trees.sizes.is_single != 0) return add_weight(*scores, trees.nodes[node].split, how, trees.sizes.trees);
  for (int32_t w = trees.first_weights[node]; w < trees.first_weights[node + 1]; ++w)
    add_weight(scores[trees.weights[w].target], trees.weights[w].weight, how, trees.sizes.trees);
}

/// Walks `count` rows through each tree, from row `from` of x.
template <typename T>
void walk_rows(const Trees<T>& trees, const HalideBuffer& x, int from, int count, Aggregate how,
               double* scores, int targets) {
  int64_t first_of[lanes];
  for (int i = 0; i < lanes; ++i) first_of[i] = int64_t{from + std::min(i, count - 1)} * x.dim[0].stride;
  for (int t = 0; t < trees.sizes.trees; ++t) {
    int32_t at[lanes];
    std::fill_n(at, lanes, trees.trees[t].root);
    walk(trees, first<const T>(x), x.dim[1].stride, first_of, trees.trees[t].depth, at);
    for (int i = 0; i < count; ++i) add_leaf(trees, at[i], how, scores + int64_t{i} * targets);
  }
}

/// Walks one row through many trees at a time.
template <typename T>
void walk_trees(const Trees<T>& trees, const HalideBuffer& x, int row, Aggregate how, double* scores) {
  int64_t first_of[lanes];
  std::fill_n(first_of, lanes, int64_t{row} * x.dim[0].stride);
  for (int t = 0; t < trees.sizes.trees; t += lanes) {
    const int count = std::min(lanes, trees.sizes.trees - t);
    int32_t at[lanes];
    int depth = 0;
    for (int i = 0; i < lanes; ++i) {
      const PackedTree& tree = trees.trees[t + std::min(i, count - 1)];
      at[i] = tree.root;
      depth = std::max(depth, tree.depth);
    }
    walk(trees, first<const T>(x), x.dim[1].stride, first_of, depth, at);
    for (int i = 0; i < count; ++i) add_leaf(trees, at[i], how, scores);
  }
}

template <typename T>
T finished(double score) {
  const double limit = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(score, -limit, limit));
}

template <typename T>
int sum_leaves(void* context, const HalideBuffer& x, const Trees<T>& trees, Aggregate how,
               const HalideBuffer& output) {
  const int targets = output.dim[1].extent, last = output.dim[0].min + output.dim[0].extent;
  const Room<double> scores(context, static_cast<size_t>(targets) * lanes);
  if (scores.get() == nullptr) return halide_error_out_of_memory(context);
  const double start = how == Aggregate::minimum   ? std::numeric_limits<double>::max()
                       : how == Aggregate::maximum ? std::numeric_limits<double>::lowest()
                                                   : 0;
  for (int row = output.dim[0].min; row < last; row += lanes) {
    const int count = std::min(lanes, last - row);
    std::fill_n(scores.get(), int64_t{targets} * count, start);
    if (count > lanes / 8)
      walk_rows(trees, x, row, count, how, scores.get(), targets);
    else
      for (int i = 0; i < count; ++i) walk_trees(trees, x, row + i, how, scores.get() + int64_t{i} * targets);
    for (int i = 0; i < count; ++i)
      for (int target = 0; target < targets; ++target)
        first<T>(output)[int64_t{row + i - output.dim[0].min} * output.dim[0].stride +
                         int64_t{target} * output.dim[1].stride] =
            finished<T>(scores.get()[int64_t{i} * targets + target]);
  }
  return 0;
}

template <typename T>
int tree_ensemble(void* context, const HalideBuffer& x, const HalideBuffer& table, int how,
                  const HalideBuffer& output) {
  if (is_question(x, output)) return 0;
  const Trees<T> trees(first<const int32_t>(table));
  return sum_leaves<T>(context, x, trees, static_cast<Aggregate>(how), output);
}

}  // namespace

extern "C" {

int intarsia_tree_ensemble_32(void* context, HalideBuffer* x, HalideBuffer* table, int how,
                              HalideBuffer* output) {
  return tree_ensemble<float>(context, *x, *table, how, *output);
}

int intarsia_tree_ensemble_64(void* context, HalideBuffer* x, HalideBuffer* table, int how,
                              HalideBuffer* output) {
  return tree_ensemble<double>(context, *x, *table, how, *output);
}
}

}  // namespace intarsia::halide::routines
