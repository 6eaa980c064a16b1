// Frames with zero or more items: a tensor split into them, and joined again.
#pragma once

#include <span>
#include <vector>

#include "pipeline/buffer_pool.h"
#include "pipeline/stage.h"

namespace intarsia {

/// Splits a tensor into items, one for each row of axis 0, which has size 1 in an item. Items share the
/// tensor's memory and its owner. Errors: not a tensor, a scalar, or elements smaller than a byte.
Result<std::vector<FrameValue>> scatter(const FrameValue& value);

/// Joins the rows of all items, which may be more or less than one each, in memory of the pool or of a single
/// item. Without items the tensor has no row and the dtype and sizes of `item`, the type of one item; f32 [0]
/// if that is unknown. Errors: scatter() would not take an item, dtypes or sizes differ, or out of memory.
Result<FrameValue> gather(std::span<const FrameValue> items, const StagePort& item, BufferPool& pool);

}  // namespace intarsia
