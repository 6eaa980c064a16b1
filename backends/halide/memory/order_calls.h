// Order of calls: one of those that the data allow in which the values that are alive at the same time need
// least memory.
//   %a (large), %b (large), %c = f(%a) (small), %d = g(%b) (small)   ->   %a, %c, %b, %d
#pragma once

#include "backends/halide/layout/choose_layouts.h"
#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// Reorders the calls if that makes the workspace smaller; sets Kernel::in_place as choose_in_place does.
/// Open sizes, and sizes that kernels count, keep the order.
void order_calls(const Layouts& layouts, std::vector<Call>& calls);

}  // namespace intarsia::halide
