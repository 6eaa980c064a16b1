// Which code a kernel's text becomes.
#pragma once

namespace intarsia::halide {

/// To be raised with every change of the code that is made for a kernel's text: times of other code, of
/// kernels and of plans, are worth nothing.
inline constexpr int code_generation = 10;

}  // namespace intarsia::halide
