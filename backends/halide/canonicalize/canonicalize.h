// Canonicalization: a region of ONNX operators becomes a graph of few core operators, whose parameters are
// attributes and whose sizes are all known: numbers, or expressions over open sizes.
//   %y = GlobalAveragePool(%x)      ->  %t0 = ReduceMean(%x) {axes = [2,3]}
//   %y = Gemm(%a, %b, %c) {transB}  ->  %t0 = MatMul(%a, %b) {transB = 1};  %y = Add(%t0, %c)
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace intarsia::halide {

/// Checks whether a size of a value is not a number.
bool has_open_sizes(const Graph& region);

/// Canonicalizes a region. Fails with the reason if a node cannot be rewritten; `supports` relies on this.
Result<Graph> canonicalize(const Graph& region);

/// Returns sizes of a canonical graph that must be equal in a run, but are not for all open sizes.
///   %y : f32[s,4] = Add(%x : f32[s,4], %p : f32[min(s,512),4])   ->   min(s,512) and s
std::vector<std::pair<Dim, Dim>> equal_sizes(const Graph& canonical);

/// Returns the names of the ONNX operators that have a rule, sorted.
std::vector<std::string_view> canonicalized_operators();

}  // namespace intarsia::halide
