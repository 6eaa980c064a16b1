// Nudged inputs or weights, which show how sensitive a model itself is.
#pragma once

#include <span>
#include <vector>

#include "base/tensor_view.h"
#include "graph/graph.h"

namespace intarsia {

/// Relative change of a float: a few units in the last place of an f32, about as much as rounding causes.
inline constexpr double nudge = 1e-6;

/// Copies all inputs, with each f32 and f64 (and part of a complex number) times 1 + nudge or 1 - nudge, the
/// same each time. Returns an empty list if no input has such floats.
std::vector<NamedValue> nudge_inputs(std::span<const NamedValue> inputs);

/// Nudges the graph's constants that have several elements likewise: single numbers are mostly not weights.
/// Returns false if none has such floats.
bool nudge_weights(Graph& graph);

}  // namespace intarsia
