// Element types of TensorFlow and of programs.
#pragma once

#include <intarsia/intarsia.h>

namespace intarsia::op {

inline constexpr int string_type = 7;

struct DataType {
  int number;     // TensorFlow's (tensorflow/core/framework/types.proto)
  int32_t dtype;  // ours
  const char* name;
};

inline constexpr DataType data_types[] = {
    {1, INTARSIA_F32, "float32"},
    {2, INTARSIA_F64, "float64"},
    {3, INTARSIA_I32, "int32"},
    {4, INTARSIA_U8, "uint8"},
    {5, INTARSIA_I16, "int16"},
    {6, INTARSIA_I8, "int8"},
    {string_type, INTARSIA_STRING, "string"},
    {8, INTARSIA_C64, "complex64"},
    {9, INTARSIA_I64, "int64"},
    {10, INTARSIA_BOOL, "bool"},
    {14, INTARSIA_BF16, "bfloat16"},
    {17, INTARSIA_U16, "uint16"},
    {18, INTARSIA_C128, "complex128"},
    {19, INTARSIA_F16, "half"},
    {22, INTARSIA_U32, "uint32"},
    {23, INTARSIA_U64, "uint64"},
    {24, INTARSIA_F8E5M2, "float8_e5m2"},
    {25, INTARSIA_F8E4M3FN, "float8_e4m3fn"},
};

/// Returns TensorFlow's type for one of ours; null if it has none.
constexpr const DataType* find_data_type(int32_t dtype) {
  for (const DataType& type : data_types) {
    if (type.dtype == dtype) return &type;
  }
  return nullptr;
}

/// Returns the name of a type of TensorFlow.
constexpr const char* data_type_name(int number) {
  for (const DataType& type : data_types) {
    if (type.number == number) return type.name;
  }
  if (number > 100) return "a reference to a variable";
  return number == 20 ? "resource" : number == 21 ? "variant" : "a type that programs do not have";
}

}  // namespace intarsia::op
