// Element types, numbered as in ONNX TensorProto.DataType. All our file formats use these numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace intarsia {

enum class DType : uint8_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,
  c128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
};
inline constexpr int dtype_count = 27;

/// Returns the name used in the text form and in reports: "f32", "i64", "bool", "string".
std::string_view dtype_name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

/// Returns the size of one element in bits (4 for i4), or 0 for undefined. A string element is a std::string
/// (see tensor_view.h).
int dtype_bits(DType dtype);

/// Returns the bytes that `elements` elements take; packed types are rounded up to whole bytes.
size_t dtype_bytes(DType dtype, size_t elements);

bool is_float(DType dtype);    // f16, bf16, f32, f64 and the 8-bit and 4-bit floats
bool is_integer(DType dtype);  // signed and unsigned, not bool
bool is_complex(DType dtype);

/// Returns the part of the largest number by which correct computations of floats of 16 bits may differ: they
/// round at other places. 0 for other types.
double rounding_tolerance(DType dtype);

}  // namespace intarsia
