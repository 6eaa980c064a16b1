#include "base/arena_plan.h"

#include <algorithm>
#include <numeric>

namespace intarsia {
namespace {

constexpr size_t least_alignment = 64;

size_t round_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

std::vector<size_t> sizes_of(const std::vector<Lifetime>& buffers) {
  std::vector<size_t> bytes;
  for (const Lifetime& buffer : buffers) bytes.push_back(buffer.bytes);
  return bytes;
}

AliveAtOnce overlap_in_time(const std::vector<Lifetime>& buffers) {
  return [&buffers](size_t one, size_t other) {
    const Lifetime &a = buffers[one], &b = buffers[other];
    return a.first <= b.last && b.first <= a.last;
  };
}

struct Placed {
  size_t begin;
  size_t end;
  size_t buffer;
};

/// Returns the lowest offset with room for `bytes` between those placed buffers (sorted by offset) that are
/// alive at the same time.
size_t lowest_gap(const std::vector<Placed>& placed, size_t buffer, size_t bytes,
                  const AliveAtOnce& at_once) {
  size_t offset = 0;
  for (const Placed& other : placed) {
    if (!at_once(buffer, other.buffer)) continue;
    if (offset + bytes <= other.begin) return offset;
    offset = std::max(offset, other.end);
  }
  return offset;
}

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& buffers) {
  return plan_arena(sizes_of(buffers), overlap_in_time(buffers));
}

ArenaPlan plan_arena(const std::vector<size_t>& buffers, const AliveAtOnce& at_once, size_t alignment) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return buffers[i]; });

  ArenaPlan plan{std::vector<size_t>(buffers.size(), 0), 0};
  std::vector<Placed> placed;
  for (size_t buffer : order) {
    const size_t bytes = round_up(buffers[buffer], alignment);
    if (bytes == 0) continue;
    const size_t offset = lowest_gap(placed, buffer, bytes, at_once);
    plan.offsets[buffer] = offset;
    plan.bytes = std::max(plan.bytes, offset + round_up(buffers[buffer], least_alignment));
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Placed::begin),
                  Placed{offset, offset + bytes, buffer});
  }
  return plan;
}

Status verify_arena(const std::vector<Lifetime>& buffers, const ArenaPlan& plan) {
  return verify_arena(sizes_of(buffers), overlap_in_time(buffers), plan);
}

Status verify_arena(const std::vector<size_t>& bytes, const AliveAtOnce& at_once, const ArenaPlan& plan,
                    size_t alignment) {
  if (plan.offsets.size() != bytes.size())
    return fail("plan has {} offsets for {} buffers", plan.offsets.size(), bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (plan.offsets[i] % alignment != 0)
      return fail("buffer {} lies at {}, not a multiple of {}", i, plan.offsets[i], alignment);
    if (plan.offsets[i] + bytes[i] > plan.bytes)
      return fail("buffer {} ends after the arena of {} bytes", i, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool apart =
          plan.offsets[i] + bytes[i] <= plan.offsets[j] || plan.offsets[j] + bytes[j] <= plan.offsets[i];
      if (!apart && bytes[i] > 0 && bytes[j] > 0 && at_once(i, j)) {
        return fail("buffers {} and {} overlap while both are live", j, i);
      }
    }
  }
  return {};
}

}  // namespace intarsia
