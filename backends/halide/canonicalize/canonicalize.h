// Canonicalization: a region of ONNX operators becomes a graph of few core operators, whose parameters are
// attributes and whose sizes are all known: numbers, or expressions over open sizes.
//   %y = GlobalAveragePool(%x)      ->  %t0 = ReduceMean(%x) {axes = [2,3]}
//   %y = Gemm(%a, %b, %c) {transB}  ->  %t0 = MatMul(%a, %b) {transB = 1};  %y = Add(%t0, %c)
#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace intarsia::halide {

/// Checks whether a size of a value is not a number.
bool has_open_sizes(const Graph& region);

/// Checks whether a run binds a canonical region to its sizes: some are open, or kernels count them.
bool is_bound_by_runs(const Graph& graph);

/// Expression that is 0 or more in all runs whose sizes the model works with.
struct SizeRequirement {
  Dim nonnegative;
  std::string why;  // what is wrong where it is negative
};

/// Canonicalizes a region. Fails with the reason if a node cannot be rewritten; `supports` relies on this.
/// `requirements` gets what nodes ask of the open sizes, beyond what follows from the sizes of values.
Result<Graph> canonicalize(const Graph& region, std::vector<SizeRequirement>* requirements = nullptr);

/// Returns the names of the ONNX operators that have a rule, sorted.
std::vector<std::string_view> canonicalized_operators();

}  // namespace intarsia::halide
