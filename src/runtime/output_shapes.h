// Shapes of a function's outputs, known from those of its inputs without a run.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/shape.h"
#include "program/program.h"

namespace intarsia {

struct NamedShape {
  std::string_view name;
  Shape shape;
};

/// Shape of an output; -1: a size that only a run tells. nullopt: not even the rank is known.
using OutputShape = std::optional<Shape>;

/// Returns the shapes of all outputs, in the function's order, for inputs of these shapes, which it checks as
/// a run does. Inputs that are not tensors may be absent. A run may still refuse sizes with which the model
/// does not work.
Result<std::vector<OutputShape>> find_output_shapes(const fbs::FunctionT& function,
                                                    std::span<const NamedShape> inputs);

}  // namespace intarsia
