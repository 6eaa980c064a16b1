// Check of the shape of an argument against what a program says of it.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/shape.h"
#include "program/program.h"

namespace intarsia {

/// Checks rank and fixed sizes, and that the elements can be counted; SizeBinder checks open sizes. `what`:
/// "input" or "output".
Status check_shape(std::string_view what, const fbs::ValueT& value, const Shape& shape);

}  // namespace intarsia
