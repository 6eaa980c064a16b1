// Where buffers with known lifetimes lie in one arena.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// A buffer that is alive from step `first` to step `last`, both included.
struct Lifetime {
  size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct ArenaPlan {
  std::vector<size_t> offsets;  // one per buffer, multiples of 64
  size_t bytes = 0;
};

/// Whether two buffers, by number, are alive at some same time.
using AliveAtOnce = std::function<bool(size_t one, size_t other)>;

/// Greedy by size, largest first, each at the lowest offset free over its whole lifetime (Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020).
ArenaPlan plan_arena(const std::vector<Lifetime>& buffers);
ArenaPlan plan_arena(const std::vector<size_t>& bytes, const AliveAtOnce& at_once);

/// Independent check: no two buffers that are live at the same time overlap, all are inside and aligned.
Status verify_arena(const std::vector<Lifetime>& buffers, const ArenaPlan& plan);
Status verify_arena(const std::vector<size_t>& bytes, const AliveAtOnce& at_once, const ArenaPlan& plan);

}  // namespace intarsia
