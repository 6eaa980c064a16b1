// Placement of buffers with known lifetimes in one arena.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Buffer that is alive from step `first` to step `last`, both included.
struct Lifetime {
  size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct ArenaPlan {
  std::vector<size_t> offsets;  // offset of each buffer, a multiple of the alignment
  size_t bytes = 0;
};

/// Predicate: whether two buffers, given by index, are ever alive at the same time.
using AliveAtOnce = std::function<bool(size_t one, size_t other)>;

/// Places the buffers greedily by size, largest first, each at the lowest offset that is free over its whole
/// lifetime (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
ArenaPlan plan_arena(const std::vector<Lifetime>& buffers);
/// Places the buffers at multiples of `alignment`, a power of 2 of at least 64.
ArenaPlan plan_arena(const std::vector<size_t>& bytes, const AliveAtOnce& at_once, size_t alignment = 64);

/// Checks independently that buffers alive at the same time do not overlap, and that all are inside the arena
/// and aligned.
Status verify_arena(const std::vector<Lifetime>& buffers, const ArenaPlan& plan);
Status verify_arena(const std::vector<size_t>& bytes, const AliveAtOnce& at_once, const ArenaPlan& plan,
                    size_t alignment = 64);

}  // namespace intarsia
