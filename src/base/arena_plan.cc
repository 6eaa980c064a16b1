#include "base/arena_plan.h"

#include <algorithm>
#include <numeric>

namespace intarsia {
namespace {

constexpr size_t alignment = 64;

size_t round_up(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool overlap_in_time(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

struct Placed {
  size_t begin;
  size_t end;
  size_t buffer;
};

/// Lowest offset with room for `bytes` between the placed buffers that are live at the same time (sorted by
/// offset).
size_t lowest_gap(const std::vector<Placed>& placed, const std::vector<Lifetime>& buffers, size_t buffer) {
  size_t offset = 0;
  const size_t bytes = round_up(buffers[buffer].bytes);
  for (const Placed& other : placed) {
    if (!overlap_in_time(buffers[buffer], buffers[other.buffer])) continue;
    if (offset + bytes <= other.begin) return offset;
    offset = std::max(offset, other.end);
  }
  return offset;
}

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return buffers[i].bytes; });

  ArenaPlan plan{std::vector<size_t>(buffers.size(), 0), 0};
  std::vector<Placed> placed;
  for (size_t buffer : order) {
    const size_t bytes = round_up(buffers[buffer].bytes);
    if (bytes == 0) continue;
    const size_t offset = lowest_gap(placed, buffers, buffer);
    plan.offsets[buffer] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Placed::begin),
                  Placed{offset, offset + bytes, buffer});
  }
  return plan;
}

Status verify_arena(const std::vector<Lifetime>& buffers, const ArenaPlan& plan) {
  if (plan.offsets.size() != buffers.size())
    return fail("plan has {} offsets for {} buffers", plan.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (plan.offsets[i] % alignment != 0)
      return fail("buffer {} lies at {}, not a multiple of {}", i, plan.offsets[i], alignment);
    if (plan.offsets[i] + buffers[i].bytes > plan.bytes)
      return fail("buffer {} ends after the arena of {} bytes", i, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool apart = plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                         plan.offsets[j] + buffers[j].bytes <= plan.offsets[i];
      if (!apart && buffers[i].bytes > 0 && buffers[j].bytes > 0 && overlap_in_time(buffers[i], buffers[j])) {
        return fail("buffers {} and {} overlap while both are live", j, i);
      }
    }
  }
  return {};
}

}  // namespace intarsia
