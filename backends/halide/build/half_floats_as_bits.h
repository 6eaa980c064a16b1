// Floats of 16 bits in code for devices, and for RISC-V.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// Makes code that holds floats of 16 bits as unsigned integers and converts them by arithmetic on bits,
/// which every device has: few have f16 (OpenCL's `cl_khr_fp16`), none bf16. Such numbers are only moved and
/// converted, never computed with. Denormal numbers keep their values on devices that flush those of f32. For
/// RISC-V, they would be converted by functions that programs do not have.
void hold_half_floats_as_bits(Halide::Pipeline& pipeline);

}  // namespace intarsia::halide
