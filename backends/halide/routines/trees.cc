// Sums of the leaves that rows reach in decision trees. Trees are arrays of nodes: an element that is at most
// the node's split goes to its second successor, others and NaN to the first; a leaf is its own successor, so
// that rows walk together, each tree as many steps as it is deep, without branches.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/halide/routines/routine.h"
#include "backends/halide/routines/tree_table.h"

namespace intarsia::halide::routines {
namespace {

constexpr int lanes = 32;  // walks at a time

/// Arrays by node, by tree, by leaf and by entry of a leaf.
template <typename T>
struct Trees {
  const T *splits, *weights;
  const int32_t *features, *next, *leaves, *missing, *roots, *depths, *entries, *targets;
  int count;
  bool has_missing;

  Trees(const T* splits_of, const T* weights_of, const int32_t* table)
      : splits(splits_of), weights(weights_of) {
    const TreeTable sizes = read_sizes(table);
    features = table + tree_table_header;
    next = features + sizes.nodes;
    leaves = next + 2 * int64_t{sizes.nodes};
    missing = leaves + sizes.nodes;
    roots = missing + (sizes.has_missing ? sizes.nodes : 0);
    depths = roots + sizes.trees;
    entries = depths + sizes.trees;
    targets = entries + sizes.leaves + 1;
    count = sizes.trees;
    has_missing = sizes.has_missing;
  }
};

template <bool has_missing, typename T>
void take_steps(const Trees<T>& trees, const T* x, int64_t step, const int64_t first[lanes], int depth,
                int32_t at[lanes]) {
  for (int d = 0; d < depth; ++d)
    for (int i = 0; i < lanes; ++i) {
      const int32_t node = at[i];
      const T element = x[first[i] + trees.features[node] * step];
      int32_t is_true = element <= trees.splits[node];
      if constexpr (has_missing) is_true |= static_cast<int32_t>(element != element) & trees.missing[node];
      at[i] = trees.next[2 * int64_t{node} + is_true];
    }
}

/// Walks from nodes at[i] with elements of x from first[i], `step` apart.
template <typename T>
void walk(const Trees<T>& trees, const T* x, int64_t step, const int64_t first[lanes], int depth,
          int32_t at[lanes]) {
  if (trees.has_missing)
    take_steps<true>(trees, x, step, first, depth, at);
  else
    take_steps<false>(trees, x, step, first, depth, at);
}

enum class Aggregate { average, sum, minimum, maximum };

template <typename T>
void add_leaf(const Trees<T>& trees, int32_t node, Aggregate how, double* scores) {
  const int32_t leaf = trees.leaves[node];
  for (int32_t e = trees.entries[leaf]; e < trees.entries[leaf + 1]; ++e) {
    double& score = scores[trees.targets[e]];
    const double weight = trees.weights[e];
    if (how == Aggregate::minimum)
      score = std::min(score, weight);
    else if (how == Aggregate::maximum)
      score = std::max(score, weight);
    else
      score += how == Aggregate::average ? weight / trees.count : weight;
  }
}

/// Walks `count` rows through each tree, from row `from` of x.
template <typename T>
void walk_rows(const Trees<T>& trees, const HalideBuffer& x, int from, int count, Aggregate how,
               double* scores, int targets) {
  int64_t first_of[lanes];
  for (int i = 0; i < lanes; ++i) first_of[i] = int64_t{from + std::min(i, count - 1)} * x.dim[0].stride;
  for (int t = 0; t < trees.count; ++t) {
    int32_t at[lanes];
    std::fill_n(at, lanes, trees.roots[t]);
    walk(trees, first<const T>(x), x.dim[1].stride, first_of, trees.depths[t], at);
    for (int i = 0; i < count; ++i) add_leaf(trees, at[i], how, scores + int64_t{i} * targets);
  }
}

/// Walks one row through many trees at a time.
template <typename T>
void walk_trees(const Trees<T>& trees, const HalideBuffer& x, int row, Aggregate how, double* scores) {
  int64_t first_of[lanes];
  std::fill_n(first_of, lanes, int64_t{row} * x.dim[0].stride);
  for (int t = 0; t < trees.count; t += lanes) {
    const int count = std::min(lanes, trees.count - t);
    int32_t at[lanes];
    int depth = 0;
    for (int i = 0; i < lanes; ++i) {
      at[i] = trees.roots[t + std::min(i, count - 1)];
      depth = std::max(depth, trees.depths[t + std::min(i, count - 1)]);
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
int tree_ensemble(void* context, const HalideBuffer& x, const HalideBuffer& splits,
                  const HalideBuffer& weights, const HalideBuffer& table, int how,
                  const HalideBuffer& output) {
  if (is_question(x, output)) return 0;
  const Trees<T> trees(first<const T>(splits), first<const T>(weights), first<const int32_t>(table));
  return sum_leaves<T>(context, x, trees, static_cast<Aggregate>(how), output);
}

}  // namespace

extern "C" {

int intarsia_tree_ensemble_32(void* context, HalideBuffer* x, HalideBuffer* splits, HalideBuffer* weights,
                              HalideBuffer* table, int how, HalideBuffer* output) {
  return tree_ensemble<float>(context, *x, *splits, *weights, *table, how, *output);
}

int intarsia_tree_ensemble_64(void* context, HalideBuffer* x, HalideBuffer* splits, HalideBuffer* weights,
                              HalideBuffer* table, int how, HalideBuffer* output) {
  return tree_ensemble<double>(context, *x, *splits, *weights, *table, how, *output);
}
}

}  // namespace intarsia::halide::routines
