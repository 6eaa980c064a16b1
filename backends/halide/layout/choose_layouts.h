// Layouts: where the elements of every value are. Sizes and meaning of values stay; only strides are chosen:
// channels last around convolutions, transposes and reshapes as views of the same bytes, inputs of a concat
// inside its output.
//   %t = Transpose(%x) {perm = [0,3,1,2]}   ->  same root as %x, strides permuted: no code
//   %y = Conv(%t, %w)                       ->  channels last
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace intarsia::halide {

/// Place of a value's elements: element (i0, i1, ...) lies at offset + i0 * strides[0] + i1 * strides[1] +
/// ... of the root's memory (in elements).
struct Storage {
  ValueId root = no_value;
  Dim offset = 0;
  SymbolicShape strides;
};

struct Layouts {
  Graph graph;                   // graph with the Copy nodes that concats and convolutions need
  std::vector<Storage> storage;  // indexed by value; where a value is its own root, its memory is dense
  std::vector<bool> is_view;     // indexed by node: whether its output needs no code
};

/// Chooses the layouts of all values. Outputs lie as in the model.
Layouts choose_layouts(const Graph& graph);

/// Returns how each output would lie if it did not leave the backend: its axes from the outermost to the
/// innermost.
std::vector<AxisOrder> choose_output_layouts(const Graph& graph);

/// Returns the strides of the same elements seen with other sizes; nullopt if no strides can express it.
std::optional<SymbolicShape> reshape_strides(const SymbolicShape& from, const SymbolicShape& strides,
                                             const SymbolicShape& to);

/// Returns the axes from the outermost to the innermost one in memory; axes whose order is not known stay in
/// theirs.
std::vector<size_t> storage_order(const SymbolicShape& strides);

std::string print_layouts(const Layouts& layouts);

}  // namespace intarsia::halide
