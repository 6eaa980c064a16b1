// Version of the code that is generated for kernels.
#pragma once

namespace intarsia::halide {

/// Version to raise with every change of the code that is generated for a kernel's text: measured times of
/// other code, of kernels and of plans, are worthless.
inline constexpr int code_generation = 13;

}  // namespace intarsia::halide
