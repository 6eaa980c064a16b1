// Readers and writers of TensorFlow's TensorProto and TensorShapeProto.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/shape.h"
#include "base/tensor_view.h"

namespace intarsia::tensorflow {

/// Reads a serialized TensorProto of numbers, booleans or strings; values that the message omits repeat
/// its last one. Throws protozero::exception on malformed bytes.
Result<Tensor> read_tensor(std::string_view bytes);
/// Writes a tensor, numbers as their bytes in `tensor_content`. Fails for a dtype that TensorFlow lacks.
Result<std::string> write_tensor(const ConstTensorView& tensor);

/// Reads a TensorShapeProto; nullopt if the rank is unknown. Unknown sizes have no name.
std::optional<SymbolicShape> read_shape(std::string_view bytes);
std::string write_shape(const std::optional<SymbolicShape>& shape);

}  // namespace intarsia::tensorflow
