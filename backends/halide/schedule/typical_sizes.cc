#include "backends/halide/schedule/typical_sizes.h"

#include <algorithm>

#include "backends/halide/core/core_ops.h"
#include "graph/size_roles.h"

namespace intarsia::halide {

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
