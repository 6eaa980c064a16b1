// Kernels of the image family in separate files.
#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

// resize.cc
Status resize(KernelContext& context);

// grid.cc
Status grid_sample(KernelContext& context);
Status affine_grid(KernelContext& context);

}  // namespace intarsia::reference
