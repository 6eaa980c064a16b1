// What the loaders of regions' plans share.
#pragma once

#include "base/result.h"

namespace intarsia::halide {

// Limits for damaged plans.
constexpr uint32_t max_workers = 1024;
constexpr uint32_t max_symbol_bytes = 256;
constexpr uint32_t max_times_in_place = 64;  // the tuner lets a step write the same output a few times

inline tl::unexpected<Error> damaged_plan() { return fail("halide: the region's plan is damaged"); }

}  // namespace intarsia::halide
