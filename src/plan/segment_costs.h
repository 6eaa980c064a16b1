// Times of the segments that a model is placed by.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "target/timing.h"

namespace intarsia {

/// Nodes of each segment, ascending.
using Segments = std::vector<std::vector<NodeId>>;

/// Time (18 minutes) from which on times count as `never`, so that no sum of a million of them overflows.
inline constexpr int64_t too_long = int64_t{1} << 40;

/// Adds times, which are not negative; `never` if one of them is, or the sum has no place below it.
inline int64_t add_times(int64_t a, int64_t b) { return a >= never - b ? never : a + b; }

/// Link from one memory space to another.
struct Link {
  int64_t latency = never;  // `never` if not linked
  double nanoseconds_per_byte = 0;
};

/// Price of a boundary before a region.
struct BoundaryPrice {
  int64_t call = 0;  // nanoseconds of the region's step and call, whatever it computes
  double per_byte =
      0;  // nanoseconds for each byte from another backend: it changes layout, and leaves caches
};

/// Times of a model's parts.
struct SegmentCosts {
  Segments segments;
  std::vector<std::vector<int64_t>> times;  // [segment][target] in nanoseconds; `never` if not there
  std::vector<std::vector<Link>> links;     // [from][to] by memory space
  std::vector<BoundaryPrice> boundaries;    // by target
};

}  // namespace intarsia
