// Products by matrices of constants of 4 or 8 bits, which stay so in the program: kernels dequantize them
// where they read them.
//   %w = DequantizeLinear(u4 constant [32,64], f32 [1,64]) {axis=0, block_size=32}, %y = MatMul(%x, %w)
//   ->  %y = MatMul(%x, u32 [4,64], f32 [1,64], u8 [1,1]) {block=32, bits=4}
#pragma once

#include <optional>

#include "backends/halide/canonicalize/rewriter.h"

namespace intarsia::halide {

/// Leaves constants of 4 bits, in blocks or with scales of 16 bits to their readers. Returns false for other
/// inputs of a DequantizeLinear.
Result<bool> dequantize_few_bits(Rewriter& rewriter);

/// Emits the product of a MatMul or Gemm whose second input is a dequantized matrix, which `swaps`
/// transposes; nullopt if it is none, or scales are not for columns and blocks of them.
Result<std::optional<ValueId>> product_by_few_bits(Rewriter& rewriter, bool swaps);

}  // namespace intarsia::halide
