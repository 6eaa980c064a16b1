// In-place kernels: those that write their output over an input that has no later reader, so that both share
// memory.
//   %r = Relu(Add(Conv(%x, %w), %s)); %s is read here for the last time   ->   %r takes the place of %s
// docs/decisions/0011-in-place.md says when that is right.
#pragma once

#include "backends/halide/layout/choose_layouts.h"
#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// Sets Kernel::in_place, also where the code would write some elements twice: emit_objects finds that out.
void choose_in_place(const Layouts& layouts, std::vector<Call>& calls);

}  // namespace intarsia::halide
