// Types of elements: the dtypes of tensors by Halide's numbers.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "backends/halide/abi/halide_abi.h"
#include "base/dtype.h"

namespace intarsia::halide {

struct ElementType {
  DType dtype;
  uint8_t code, bits;  // of an expression, in which bool has one bit
};

/// All dtypes that kernels read and write.
inline constexpr auto element_types = std::to_array<ElementType>({{DType::boolean, halide_unsigned, 1},
                                                                  {DType::i8, halide_signed, 8},
                                                                  {DType::i16, halide_signed, 16},
                                                                  {DType::i32, halide_signed, 32},
                                                                  {DType::i64, halide_signed, 64},
                                                                  {DType::u8, halide_unsigned, 8},
                                                                  {DType::u16, halide_unsigned, 16},
                                                                  {DType::u32, halide_unsigned, 32},
                                                                  {DType::u64, halide_unsigned, 64},
                                                                  {DType::f16, halide_floating, 16},
                                                                  {DType::bf16, halide_bfloat, 16},
                                                                  {DType::f32, halide_floating, 32},
                                                                  {DType::f64, halide_floating, 64}});

/// Returns the row of a dtype; null if kernels have none.
inline const ElementType* find_element_type(DType dtype) {
  const auto row = std::ranges::find(element_types, dtype, &ElementType::dtype);
  return row == element_types.end() ? nullptr : &*row;
}

/// Returns the dtype of a type; nullopt for those that tensors do not have, as handles.
inline std::optional<DType> dtype_of(const HalideType& type) {
  for (const ElementType& row : element_types)
    if (row.code == type.code && row.bits == type.bits) return row.dtype;
  return std::nullopt;
}

/// Returns the type of an element in memory, where bool is a byte; nullopt if kernels have none.
inline std::optional<HalideType> halide_type(DType dtype) {
  const ElementType* row = find_element_type(dtype);
  if (row == nullptr) return std::nullopt;
  return HalideType{row->code, std::max<uint8_t>(row->bits, 8), 1};
}

}  // namespace intarsia::halide
