// Numbers of the trees of an ensemble in one array, after a header of sizes: features of the nodes, their two
// successors (if false, if true), the numbers of their leaves, 1 where NaN goes to the second successor (if
// any node has that), then roots and depths of the trees, the first entry of each leaf and one more, and the
// targets of the entries.
#pragma once

#include <cstdint>

namespace intarsia::halide::routines {

struct TreeTable {
  int32_t trees = 0, nodes = 0, leaves = 0;
  bool has_missing = false;
};

inline constexpr int tree_table_header = 4;

inline TreeTable read_sizes(const int32_t* table) { return {table[0], table[1], table[2], table[3] != 0}; }

}  // namespace intarsia::halide::routines
