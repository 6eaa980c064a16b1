// Calls of a region that may run at the same time.
#pragma once

#include "backends/halide/runtime/region_executable.h"

namespace intarsia::halide {

/// Finds calls that run many times and may run beside those that follow, up to another such call: none of
/// them reads or writes what the other side writes. The two directions of a recurrent layer are like that.
///   0: first step forward; 1: 99 more; 2: first step backward; 3: 99 more   ->   1 beside 2 and 3
std::vector<CallsBeside> find_calls_beside(const RegionCode& code);

}  // namespace intarsia::halide
