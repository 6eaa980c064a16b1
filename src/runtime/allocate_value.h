// Memory for an argument of a function.
#pragma once

#include <optional>

#include "base/tensor_view.h"
#include "program/program.h"

namespace intarsia {

/// For a tensor of fixed shape; nothing for other values.
std::optional<Tensor> allocate_value(const fbs::ValueT& value);

}  // namespace intarsia
