// Whether two computations of one value agree.
#pragma once

#include <string>

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

struct Tolerance {
  double rtol = 1e-3;  // of the largest finite |reference| in the tensor
  double atol = 1e-5;
};

struct Difference {
  bool ok = false;
  double max_abs =
      0;  // NaN when there is no number for it: another dtype or shape, text, NaN or infinity on one side
  double max_rel = 0;  // max_abs / the largest finite |reference|; equals max_abs when that is 0
  std::string why;     // when not ok: what differs first or most
};

/// Floats and complex numbers agree when each element differs by at most atol + rtol * max|reference|; NaN
/// equals NaN and an infinity equals itself. All other types must be equal.
Difference compare_tensors(const TensorView& actual, const TensorView& reference, const Tolerance& tolerance);

}  // namespace intarsia
