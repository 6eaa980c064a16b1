// Finds indices out of range among those that come with a request. Kernels clamp them, so that no data makes
// them read out of bounds, but the answer would be wrong without a word.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/halide/abi/halide_abi.h"

namespace intarsia::halide {

struct IndexRange {
  int64_t low = 0, high = 0;  // the least and the greatest that is allowed
};

/// Some elements of a kernel's argument, which have one range.
struct IndexCheckPlan {
  uint32_t argument = 0;
  int64_t offset = 0;  // of the first, in elements
  IndexRange range;
  std::vector<HalideDimension> dimensions;  // outermost first; as few as possible
};

/// For an argument of these dimensions. `ranges`: one for all elements, or one for each along the last axis.
/// Nothing where these are not so many, or elements overlap.
std::optional<std::vector<IndexCheckPlan>> plan_index_checks(uint32_t argument,
                                                             std::span<const HalideDimension> dimensions,
                                                             std::span<const IndexRange> ranges);

/// The first index that is out of range. `memory`: where the argument starts; `bits`: 32 or 64, of a signed
/// element.
std::optional<int64_t> find_bad_index(const IndexCheckPlan& plan, const uint8_t* memory, int bits);

}  // namespace intarsia::halide
