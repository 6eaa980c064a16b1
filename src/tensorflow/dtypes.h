// TensorFlow's DataType and our DType.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace intarsia::tensorflow {

/// DType::undefined for resources, variants, quantized types and unknown numbers.
DType dtype_of(int32_t data_type);
/// 0 for types that TensorFlow lacks.
int32_t data_type_of(DType dtype);

/// Resources, variants and 4-bit integers (which TensorFlow stores in another form): values that only it can
/// hold.
bool is_opaque_type(int32_t data_type);

}  // namespace intarsia::tensorflow
