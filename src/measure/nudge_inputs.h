// Inputs that are nearly the same, to see how much of a difference a model itself makes.
#pragma once

#include <span>
#include <vector>

#include "base/tensor_view.h"

namespace intarsia {

/// By how much a float changes, relatively: a few units in the last place of an f32, so about what rounding
/// does.
inline constexpr double nudge = 1e-6;

/// Copies with each f32 and f64 (and part of a complex number) times 1 + nudge or 1 - nudge, the same each
/// time, and of all other inputs. Empty: no input has such floats.
std::vector<NamedValue> nudge_inputs(std::span<const NamedValue> inputs);

}  // namespace intarsia
