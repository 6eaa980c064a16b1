// String tensors in a file: the end offset of each string (u64, little-endian), then all characters.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia {

std::string encode_strings(const TensorView& strings);
/// Decodes a new tensor of `shape`. Errors: `bytes` do not hold that many strings.
Result<Tensor> decode_strings(std::span<const std::byte> bytes, const Shape& shape);

}  // namespace intarsia
