// Kernels of the window family in separate files.
#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

// convolution.cc
Status conv(KernelContext& context);
Status conv_transpose(KernelContext& context);
Status causal_conv_with_state(KernelContext& context);
Status col2im(KernelContext& context);

// deform_conv.cc
Status deform_conv(KernelContext& context);

}  // namespace intarsia::reference
