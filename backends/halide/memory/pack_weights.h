// Packing of weights in the order in which a contraction reads them.
#pragma once

#include "backends/halide/layout/choose_layouts.h"
#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// Packs `tensor`, seen through `storage` with the sizes `shape`, as a Packing says, to the sizes `packed`;
/// lanes past the last channel are zero. For a matrix product the channels are the columns and there are no
/// taps; for a depthwise convolution all channels are the lanes of one panel. Winograd's algorithm transforms
/// the weights first.
Tensor pack_weights(const Tensor& tensor, const Storage& storage, const Shape& shape, const Node& node,
                    const Shape& packed, const ContractionDetails& details);

}  // namespace intarsia::halide
