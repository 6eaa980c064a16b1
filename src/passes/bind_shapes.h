// Binding of the sizes that a model leaves open.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/requested_shape.h"
#include "graph/graph.h"

namespace intarsia {

struct SymbolBinding {
  std::string symbol;
  int64_t value = 0;
  bool by_default = false;     // whether it was not given and became 1
  std::string pinned_by = {};  // node that works with this size alone; empty if there is none
};

/// What becomes of the sizes that no shape mentions.
enum class Unmentioned : uint8_t { stay_open, become_one };

/// Sets the inputs' shapes to the given ones ("image" -> 1x224x224x3), which determine the symbols
/// (solve_sizes.h). All value types of the graph get the numbers.
///   mask: i64[batch,past+1], 1x129 given   ->   i64[1,129], batch=1, past=128
/// A size that stays open becomes one of Graph::open_sizes, under the name given, or the model's, or that of
/// the input and its axis; an axis of some input has exactly that size, so that the inputs of a run tell it.
///   x: f32[batch,3], Nx3 given   ->   f32[N,3], N is open
///   x: f32[batch,?], nothing given   ->   f32[batch,x_dim1], both are open
/// Symbols without an axis of their own, those in a size that is given, and all if unmentioned ones do not
/// stay open, become 1.
///   x: f32[2*n,3], nothing given   ->   f32[2,3], n=1
/// Errors: an unknown input, a rank or size other than the model's, a symbol with two values, or a value and
/// open, an expression that cannot equal the given number, an input whose rank the model does not specify.
Result<std::vector<SymbolBinding>> bind_shapes(Graph& graph,
                                               const std::map<std::string, RequestedShape>& given,
                                               Unmentioned unmentioned);

}  // namespace intarsia
