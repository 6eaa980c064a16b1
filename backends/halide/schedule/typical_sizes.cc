#include "backends/halide/schedule/typical_sizes.h"

#include <algorithm>
#include <cctype>

#include "backends/halide/core/core_ops.h"

namespace intarsia::halide {
namespace {

/// Checks whether the name is one that exporters give to the number of items.
bool names_batch(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return name.contains("batch") || name == "n" || name == "b";
}

/// Checks whether inputs have the size as their first axis, and none has it elsewhere.
bool is_first_axis(const Graph& region, const std::string& name) {
  bool is_first = false;
  for (ValueId input : region.inputs) {
    const auto& shape = region.value(input).type.shape;
    for (size_t axis = 0; shape && axis < shape->size(); ++axis) {
      if (!(*shape)[axis].symbols().contains(name)) continue;
      if (axis > 0) return false;
      is_first = true;
    }
  }
  return is_first;
}

/// Returns the open size that counts items, by its name or else by its place; null if there is none.
const OpenSize* find_batch(const Graph& region) {
  const std::vector<OpenSize>& open = region.open_sizes;
  const auto named = std::ranges::find_if(open, names_batch, &OpenSize::name);
  if (named != open.end()) return &*named;
  const auto placed = std::ranges::find_if(
      open, [&](const std::string& name) { return is_first_axis(region, name); }, &OpenSize::name);
  return placed == open.end() ? nullptr : &*placed;
}

}  // namespace

TypicalSizes typical_sizes(const Graph& region) {
  const OpenSize* batch = region.open_sizes.size() > 1 ? find_batch(region) : nullptr;
  TypicalSizes typical;
  for (const OpenSize& size : region.open_sizes) {
    const int64_t usual = &size == batch ? 1 : typical_size;
    typical[size.name] =
        size.tuned.empty() ? std::clamp(usual, size.range.min, size.range.max) : std::ranges::max(size.tuned);
  }
  return typical;
}

}  // namespace intarsia::halide
