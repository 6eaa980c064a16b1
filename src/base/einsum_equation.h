// Equation of Einsum, "bij,bjk->bik", as ONNX defines it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Labels of axes: letters; for the axes of an ellipsis the numbers -1, -2, ... from the last on.
using EinsumLabels = std::vector<int>;

struct EinsumEquation {
  std::vector<EinsumLabels> terms;  // one for each input
  EinsumLabels result;
};

/// Parses an equation for inputs of these ranks. Without an arrow, the result has the axes of the ellipsis,
/// then the letters that occur once, in ASCII order. Errors: terms that do not fit the inputs, other
/// characters, a label of the result that is in no term or repeated.
Result<EinsumEquation> parse_einsum(std::string text, std::span<const size_t> ranks);

}  // namespace intarsia
