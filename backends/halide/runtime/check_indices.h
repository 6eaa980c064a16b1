// Search for indices out of range among those that come with a request. Kernels clamp them, so that no data
// makes them read out of bounds, but the answer would be silently wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/halide/abi/halide_abi.h"

namespace intarsia::halide {

struct IndexRange {
  int64_t low = 0, high = 0;  // least and greatest allowed index
};

/// Elements of a kernel's argument that have one range.
struct IndexCheckPlan {
  uint32_t argument = 0;
  int64_t offset = 0;  // offset of the first one, in elements
  IndexRange range;
  std::vector<HalideDimension> dimensions;  // outermost first; as few as possible
};

/// Plans the checks of an argument of these dimensions. `ranges` has one for all elements, or one for each
/// along the last axis. Returns nullopt if it has another number, or if elements overlap.
std::optional<std::vector<IndexCheckPlan>> plan_index_checks(uint32_t argument,
                                                             std::span<const HalideDimension> dimensions,
                                                             std::span<const IndexRange> ranges);

/// Returns the first index that is out of range. `memory` is where the argument starts; `bits` is 32 or 64,
/// of a signed element.
std::optional<int64_t> find_bad_index(const IndexCheckPlan& plan, const uint8_t* memory, int bits);

}  // namespace intarsia::halide
