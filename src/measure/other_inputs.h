// Other values for the inputs of a model, to see more of what it computes.
#pragma once

#include <span>
#include <vector>

#include "base/tensor_view.h"

namespace intarsia {

/// Copies all inputs with other random values, the same each time. Strings stay, and so do 32- and 64-bit
/// integers that are all 0, which may be indices along an axis of size 1.
std::vector<NamedValue> vary_inputs(std::span<const NamedValue> inputs);

/// Copies all inputs with values on which operators disagree, the same each time: floats among zeros of both
/// signs, halves (which rounding decides), integers and numbers of other magnitudes up to 8; integers of at
/// most 16 bits from their whole range. Others may be sizes or indices and have small random values, as
/// fill_tensor() gives them. Strings and zeros stay, as in vary_inputs().
std::vector<NamedValue> edge_inputs(std::span<const NamedValue> inputs);

}  // namespace intarsia
