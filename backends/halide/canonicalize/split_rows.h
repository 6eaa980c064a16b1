// Strips of rows: a part of the graph between two values computes some rows after the other, so that what
// lies between them never is in memory as a whole.
//   %y = Conv(%x, %w), %z = Relu(MaxPool(%y))   with 2 strips ->
//   %x0 = Slice(%x), %z0 = Relu(MaxPool(Conv(%x0, %w))), %x1 = Slice(%x), ..., %z = Concat(%z0, %z1)
// Strips read the rows around theirs that windows reach, and compute those of inner values again.
// Source: J. Lin et al., "MCUNetV2: Memory-Efficient Patch-based Inference for Tiny Deep Learning", 2021.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace intarsia::halide {

/// Window of a node along the rows of its input; that of an elementwise node is one row.
struct RowWindow {
  int64_t stride = 1;
  int64_t reach = 1;  // rows from a window's first to its last
  int64_t pad_before = 0, pad_after = 0;
};

/// Part of a canonical graph that can compute strips.
struct RowPart {
  ValueId from = no_value, to = no_value;
  std::vector<NodeId> nodes;       // all nodes on the way, ascending; rows of each are the third axis
  std::vector<RowWindow> windows;  // of each node
};

/// Rows of a value: from `first` to before `end`.
struct Rows {
  int64_t first = 0, end = 0;
  int64_t count() const { return end - first; }
  bool operator==(const Rows&) const = default;
};

/// Returns the part from one value to another; nullopt if it has a node that needs all rows, or something
/// else reads what is inside.
std::optional<RowPart> find_row_part(const Graph& graph, ValueId from, ValueId to);

/// Returns the rows that a strip needs of each value of the part: of its outputs, in the order of its nodes,
/// and then of `from`.
std::vector<Rows> rows_of_strip(const Graph& graph, const RowPart& part, Rows of_output);

/// Returns the rows of strips: as many in each, but for the last one. There may be fewer strips.
std::vector<Rows> divide_rows(int64_t rows, int64_t strips);

/// Splits the part into strips. Each element is computed as before.
void split_rows(Graph& graph, const RowPart& part, int64_t strips);

}  // namespace intarsia::halide
