// Comparison of two computations of one value.
#pragma once

#include <string>

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

struct Tolerance {
  double rtol = 1e-3;  // tolerance relative to the tensor's largest finite |reference|
  double atol = 1e-5;
  bool widens = true;  // whether rtol is at least that of the tensor's dtype (rounding_tolerance)
};

struct Difference {
  bool ok = false;
  /// Largest difference. NaN when there is no number for it: another dtype or shape, unequal values that are
  /// not floats, NaN or infinity on one side.
  double max_abs = 0;
  double max_rel = 0;  // max_abs / the largest finite |reference|; equals max_abs when that is 0
  std::string why;     // first or largest difference, when not ok
};

/// Compares tensors. Floats and complex numbers agree when each element differs by at most
/// atol + rtol * max|reference|; NaN equals NaN and an infinity equals itself. Other types must be equal.
Difference compare_tensors(const TensorView& actual, const TensorView& reference, const Tolerance& tolerance);

}  // namespace intarsia
