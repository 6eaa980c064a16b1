// Values between regions of one backend may lie as that likes best; whoever looks at them wants the source's
// layout.
#pragma once

#include <span>

#include "base/tensor_view.h"

namespace intarsia {

/// A copy with the source's axes in their order. `axes[i]`: the source's axis that axis i of `stored` is;
/// each once. Elements are of whole bytes.
Tensor in_source_layout(const ConstTensorView& stored, std::span<const uint8_t> axes);

}  // namespace intarsia
