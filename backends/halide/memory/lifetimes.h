// Lifetimes of a region's roots in the workspace, in call numbers.
#pragma once

#include <map>
#include <vector>

#include "backends/halide/layout/choose_layouts.h"
#include "backends/halide/schedule/kernel.h"
#include "base/arena_plan.h"

namespace intarsia::halide {

/// Returns the lifetime of each root that is neither the caller's nor a constant, from the first call that
/// writes any part of it to the last that reads one, and how much memory it takes (with typical sizes).
std::map<ValueId, Lifetime> find_lifetimes(const Layouts& layouts, const std::vector<Call>& calls);

}  // namespace intarsia::halide
