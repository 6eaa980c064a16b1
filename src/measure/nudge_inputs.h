// Inputs or weights that are nearly the same, to see how sensitive a model itself is.
#pragma once

#include <span>
#include <vector>

#include "base/tensor_view.h"
#include "graph/graph.h"

namespace intarsia {

/// The relative change of a float: a few units in the last place of an f32, about as much as rounding causes.
inline constexpr double nudge = 1e-6;

/// Copies of all inputs, with each f32 and f64 (and part of a complex number) times 1 + nudge or 1 - nudge,
/// the same each time. Empty: no input has such floats.
std::vector<NamedValue> nudge_inputs(std::span<const NamedValue> inputs);

/// The same for the graph's constants that have several elements: single numbers are mostly no weights.
/// False: none has such floats.
bool nudge_weights(Graph& graph);

}  // namespace intarsia
