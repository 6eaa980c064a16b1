// Memory for arguments of a function.
#pragma once

#include <optional>

#include "base/tensor_view.h"
#include "program/program.h"

namespace intarsia {

/// Allocates a tensor for a value of fixed shape, or for an input of the sizes that the program was measured
/// with; nullopt for other values.
std::optional<Tensor> allocate_value(const fbs::ValueT& value);

}  // namespace intarsia
