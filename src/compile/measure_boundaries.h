// Measuring what a boundary between regions costs on this machine.
#pragma once

#include "compile/compile_regions.h"
#include "plan/segment_costs.h"

namespace intarsia {

/// Returns the price of a boundary of each target of the problem: from the table, else measured now and kept.
/// All targets to be measured take turns in a chain of transpositions, each a region of its own, so that each
/// region starts as behind a boundary: another backend's threads ran last, values are in their caches, and
/// get another layout. Chains with few and with many bytes give the price of a call and of each byte. What
/// cannot be measured is assumed (plan/costs/boundary_prices.h).
std::vector<BoundaryPrice> price_boundaries(RegionCompiler& compiler);

}  // namespace intarsia
