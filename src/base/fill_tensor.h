// Values for inputs that were not given.
#pragma once

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

/// Overwrites the tensor with values that depend on `seed` alone: real and complex floats between -1 and 1,
/// integers and booleans 0 and 1, or 0 alone where the integers must be less than an `index_limit` of 1 (0:
/// there is none). Strings are an error: they must be given.
Status fill_tensor(const TensorView& tensor, uint64_t seed, uint64_t index_limit = 0);

}  // namespace intarsia
