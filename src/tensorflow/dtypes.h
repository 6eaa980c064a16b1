// Conversion between TensorFlow's DataType and our DType.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace intarsia::tensorflow {

/// Returns the DType; DType::undefined for resources, variants, quantized types and unknown numbers.
DType dtype_of(int32_t data_type);
/// Returns the DataType; 0 for types that TensorFlow lacks.
int32_t data_type_of(DType dtype);

/// Checks for resources, variants and 4-bit integers (which TensorFlow stores in another form), whose values
/// only TensorFlow can hold.
bool is_opaque_type(int32_t data_type);

}  // namespace intarsia::tensorflow
