// Generated values for inputs that were not given.
#pragma once

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

/// Overwrites the tensor with values that depend only on `seed`: real and complex floats between -1 and 1,
/// integers and booleans 0 and 1, or only 0 where integers must be less than an `index_limit` of 1 (0 means
/// no limit). Error: strings, which must be given.
Status fill_tensor(const TensorView& tensor, uint64_t seed, uint64_t index_limit = 0);

}  // namespace intarsia
