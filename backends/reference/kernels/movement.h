// Kernels of the movement family in separate files.
#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

// movement_range.cc: a part of the input, or the input in a larger frame
Status slice(KernelContext& context);
Status pad(KernelContext& context);
Status center_crop_pad(KernelContext& context);
Status reverse_sequence(KernelContext& context);

// movement_fill.cc: computed from sizes and scalars
Status constant(KernelContext& context);
Status constant_of_shape(KernelContext& context);
Status range(KernelContext& context);
Status eye_like(KernelContext& context);
Status trilu(KernelContext& context);

}  // namespace intarsia::reference
