// Helpers of the quantized operators, and their kernels in separate files.
#pragma once

#include "backends/reference/kernel.h"
#include "backends/reference/kernels/dispatch.h"

namespace intarsia::reference {

std::span<const KernelEntry> quantized_product_kernels();
std::span<const KernelEntry> quantized_convolution_kernels();

/// Fails unless values of this dtype can be quantized ones: integers and floats of at most 32 bits.
Status require_quantized(DType dtype);

/// Returns saturate(round(value) + zero_point) for integers, rounding ties to even; value + zero_point as it
/// is for floats.
double quantize(double value, double zero_point, DType dtype);

/// Writes values that `quantize` returned; `saturate` as in encode_float.
void store_quantized(const TensorView& y, int64_t i, double value, bool saturate);

}  // namespace intarsia::reference
