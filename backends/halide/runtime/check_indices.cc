#include "backends/halide/runtime/check_indices.h"

#include <limits>

#include "base/int128.h"

namespace intarsia::halide {
namespace {

/// Drops axes that stay at one place, and joins those that continue each other.
std::vector<HalideDimension> joined(std::span<const HalideDimension> dimensions) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  std::vector<HalideDimension> axes;
  for (const HalideDimension& next : dimensions) {
    if (next.extent == 1 || next.stride == 0) continue;
    HalideDimension* outer = axes.empty() ? nullptr : &axes.back();
    const bool continues = outer != nullptr && outer->stride == int64_t{next.stride} * next.extent &&
                           int64_t{outer->extent} * next.extent <= most;
    if (continues)
      *outer = {0, outer->extent * next.extent, next.stride, 0};
    else
      axes.push_back(next);
  }
  return axes;
}

/// Checks whether every element has a place of its own, so that checking takes no longer than reading the
/// memory.
bool are_apart(std::span<const HalideDimension> dimensions) {
  Int128 elements = 1, reach = 1;
  for (const HalideDimension& axis : dimensions) {
    elements *= axis.extent;
    reach += static_cast<Int128>(axis.extent - 1) * axis.stride;
    if (elements > std::numeric_limits<int64_t>::max()) return false;
  }
  return elements <= reach;
}

/// Checks whether an index along the axis is out of range. The sign bit of a difference says on which side of
/// a limit an index is; a loop without branches uses vectors.
template <typename T>
bool has_bad(const T* at, const HalideDimension& axis, IndexRange range) {
  const auto low = static_cast<uint64_t>(range.low), high = static_cast<uint64_t>(range.high);
  uint64_t outside = 0;
  const auto look = [&](int64_t index) {
    outside |= (static_cast<uint64_t>(index) - low) | (high - static_cast<uint64_t>(index));
  };
  if (axis.stride == 1)
    for (int32_t i = 0; i < axis.extent; ++i) look(at[i]);
  else
    for (int32_t i = 0; i < axis.extent; ++i) look(at[int64_t{i} * axis.stride]);
  return outside >> 63 != 0;
}

template <typename T>
std::optional<int64_t> find_bad(const T* at, std::span<const HalideDimension> axes, IndexRange range) {
  const HalideDimension& axis = axes.front();
  if (axes.size() == 1 && !has_bad(at, axis, range)) return std::nullopt;
  for (int32_t i = 0; i < axis.extent; ++i) {
    const T* place = at + int64_t{i} * axis.stride;
    if (axes.size() > 1) {
      if (const auto bad = find_bad(place, axes.subspan(1), range)) return bad;
    } else if (*place < range.low || *place > range.high) {
      return *place;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<IndexCheckPlan>> plan_index_checks(uint32_t argument,
                                                             std::span<const HalideDimension> dimensions,
                                                             std::span<const IndexRange> ranges) {
  const HalideDimension last = dimensions.empty() ? HalideDimension{0, 1, 0, 0} : dimensions.back();
  const bool is_one = ranges.size() == 1;
  if (!is_one && ranges.size() != static_cast<size_t>(last.extent)) return std::nullopt;
  std::vector<HalideDimension> axes = joined(is_one ? dimensions : dimensions.first(dimensions.size() - 1));
  if (axes.empty()) axes.push_back({0, 1, 0, 0});
  if (!are_apart(axes)) return std::nullopt;
  std::vector<IndexCheckPlan> plans;
  for (size_t k = 0; k < ranges.size(); ++k)
    plans.push_back({argument, static_cast<int64_t>(k) * last.stride, ranges[k], axes});
  return plans;
}

std::optional<int64_t> find_bad_index(const IndexCheckPlan& plan, const uint8_t* memory, int bits) {
  if (bits == 32)
    return find_bad(reinterpret_cast<const int32_t*>(memory) + plan.offset, std::span(plan.dimensions),
                    plan.range);
  return find_bad(reinterpret_cast<const int64_t*>(memory) + plan.offset, std::span(plan.dimensions),
                  plan.range);
}

}  // namespace intarsia::halide
