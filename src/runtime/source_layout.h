// Source layout of values, which dumps show: regions of one backend may exchange values in another layout.
#pragma once

#include <span>

#include "base/tensor_view.h"

namespace intarsia {

/// Copies a value with the source's axes in their order. Axis i of `stored` is the source's axis `axes[i]`;
/// each occurs once. Elements are whole bytes.
Tensor in_source_layout(const ConstTensorView& stored, std::span<const uint8_t> axes);

}  // namespace intarsia
