// Ensembles of decision trees, as the operators TreeEnsemble and TreeEnsembleRegressor give them in their
// attributes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/attributes.h"
#include "base/result.h"

namespace intarsia {

/// Tests, numbered as in the attribute nodes_modes of TreeEnsemble.
enum class TreeTest : uint8_t { less_equal, less, greater_equal, greater, equal, not_equal, member };

/// A node or a leaf, by number.
struct TreeReference {
  bool is_leaf = false;
  int64_t number = 0;
};

struct TreeNode {
  TreeTest test = TreeTest::less_equal;
  int64_t feature = 0;
  double split = 0;
  bool missing_is_true = false;
  TreeReference next[2];  // if false, if true
  std::vector<double> members;
};

/// Weight that a leaf gives to a target.
struct LeafWeight {
  int64_t target = 0;
  double weight = 0;
};

enum class TreeAggregate : uint8_t { average, sum, minimum, maximum };

/// Trees whose nodes are reached once at most, so that every walk ends.
struct DecisionTrees {
  std::vector<TreeNode> nodes;
  std::vector<std::vector<LeafWeight>> leaves;
  std::vector<TreeReference> roots;
  int64_t targets = 1;
  TreeAggregate aggregate = TreeAggregate::sum;
  std::vector<double> base_values;  // one for each target, or none
};

/// Reads the attributes of a TreeEnsemble.
/// Errors: they contradict each other, or name features that the input of so many does not have.
Result<DecisionTrees> read_tree_ensemble(const Attributes& attributes, int64_t features);

/// Reads the attributes of a TreeEnsembleRegressor but for post_transform, in the same way. Where a target
/// may get no weight, its least and greatest are undefined, and an error.
Result<DecisionTrees> read_tree_regressor(const Attributes& attributes, int64_t features);

/// Returns for each target whether every element gets a weight for it: all leaves of some tree have one.
std::vector<bool> always_weighted(const DecisionTrees& trees);

}  // namespace intarsia
