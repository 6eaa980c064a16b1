// Gives numbers to the sizes that a model leaves open.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace intarsia {

struct SymbolBinding {
  std::string symbol;
  int64_t value = 0;
  bool by_default = false;  // not given: it became 1
};

/// Sets the inputs' shapes as given ("image" -> 1x224x224x3), which determine the symbols (solve_sizes.h); a
/// symbol that is still open becomes 1. All value types of the graph get the numbers.
///   x: f32[batch,3], nothing given   ->   f32[1,3], batch=1
///   mask: i64[batch,past+1], 1x129 given   ->   i64[1,129], batch=1, past=128
/// Errors: an unknown input, another rank or size than the model has, a symbol with two values, an expression
/// that no symbol makes the number that is given, an input whose rank the model does not specify.
Result<std::vector<SymbolBinding>> bind_shapes(Graph& graph, const std::map<std::string, Shape>& given);

}  // namespace intarsia
