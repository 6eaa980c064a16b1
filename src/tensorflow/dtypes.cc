#include "tensorflow/dtypes.h"

#include "tensorflow/fields.h"

namespace intarsia::tensorflow {
namespace {

/// Numbers of types.proto.
constexpr struct {
  int32_t number;
  DType dtype;
} table[] = {
    {1, DType::f32},   {2, DType::f64},     {3, DType::i32},       {4, DType::u8},   {5, DType::i16},
    {6, DType::i8},    {7, DType::string},  {8, DType::c64},       {9, DType::i64},  {10, DType::boolean},
    {14, DType::bf16}, {17, DType::u16},    {18, DType::c128},     {19, DType::f16}, {22, DType::u32},
    {23, DType::u64},  {24, DType::f8e5m2}, {25, DType::f8e4m3fn},
};

constexpr int32_t int4_type = 29, uint4_type = 30;  // stored in a byte each; ours are packed
constexpr int32_t reference = 100;  // added to the number of a type that is a reference to a variable

}  // namespace

DType dtype_of(int32_t data_type) {
  if (data_type > reference) data_type -= reference;
  for (const auto& row : table) {
    if (row.number == data_type) return row.dtype;
  }
  return DType::undefined;
}

int32_t data_type_of(DType dtype) {
  for (const auto& row : table) {
    if (row.dtype == dtype) return row.number;
  }
  return 0;
}

bool is_opaque_type(int32_t data_type) {
  return data_type == resource_type || data_type == variant_type || data_type == int4_type ||
         data_type == uint4_type;
}

}  // namespace intarsia::tensorflow
