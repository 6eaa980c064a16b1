// Trees of an ensemble in one array of 32-bit words: a header, the nodes of all trees, each tree's in one
// place and the two successors of a node side by side, the weights of the leaves, then, for each node and one
// more, the number of its first weight, and root and depth of each tree.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intarsia::halide::routines {

struct TreeTable {
  int32_t trees = 0, nodes = 0, weights = 0;
  int32_t has_missing = 0;  // whether NaN goes to the second successor of some node
  int32_t is_single = 0;    // whether there is one target, and each leaf has one weight
  int32_t reserved[3] = {};
};

/// Node that tests whether a feature is at most `split`: if so, it goes to node `next` + 1, else to `next`. A
/// leaf is its own successor, and has its weight, if it is the only one, in place of the split.
template <typename T>
struct PackedTreeNode {
  T split = 0;
  int32_t test = 0;  // 4 * feature, + tree_missing, + tree_branch
  int32_t next = 0;
};

inline constexpr int32_t tree_branch = 1,  // it is not a leaf
    tree_missing = 2;                      // NaN passes the test

template <typename T>
struct PackedLeafWeight {
  T weight = 0;
  int32_t target = 0;
};

struct PackedTree {
  int32_t root = 0, depth = 0;
};

}  // namespace intarsia::halide::routines
