// Sharing of kernels: those that differ only in numbers become one kernel that reads them.
//   %a = Mul(%x, 1.5); %b = Mul(%x, 2.5); ... %z = Mul(%x, 9.25)   =>   one kernel v0 * v1 for all numbers
#pragma once

#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// Shares kernels. Numbers in the code are faster, so a few kernels may differ in them: only a model with
/// many such kernels, which would take long to compile, gets one that reads those that differ, and a
/// microcontroller, where code takes room, always does. Exponents stay in the code: a square is cheaper than
/// a power.
void share_kernels(std::vector<Call>& calls);

}  // namespace intarsia::halide
