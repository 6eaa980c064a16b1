#include "backends/halide/runtime/calls_beside.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

constexpr uint32_t many_times = 8;
constexpr size_t most_between = 4;  // calls between the two that run many times

/// Bytes that a call reads or writes in all of its runs.
struct Reach {
  BufferPlan::Where where;
  uint32_t index = 0;  // number of an input or output; 0 for the workspace
  int64_t begin = 0, end = 0;

  bool overlaps(const Reach& other) const {
    return where == other.where && index == other.index && begin < other.end && other.begin < end;
  }
};

Reach reach_of(const RegionCode& code, const CallPlan& call, size_t argument) {
  const BufferPlan& buffer = code.buffers[call.buffers[argument]];
  int64_t elements = 1;
  for (const HalideDimension& axis : buffer.dimensions)
    elements += static_cast<int64_t>(std::max(axis.extent - 1, 0)) * axis.stride;
  const int64_t moves =
      call.steps.empty() ? 0 : call.steps[argument] * (static_cast<int64_t>(call.times) - 1);
  const auto offset = static_cast<int64_t>(buffer.offset);
  return {buffer.where, buffer.where == BufferPlan::Where::workspace ? 0 : buffer.index,
          offset + std::min<int64_t>(moves, 0),
          offset + std::max<int64_t>(moves, 0) + elements * buffer.type.bits / 8};
}

/// Checks whether a call writes what the other one reads or writes.
bool disturbs(const RegionCode& code, const CallPlan& writer, const CallPlan& other) {
  const Reach written = reach_of(code, writer, writer.buffers.size() - 1);
  for (size_t i = 0; i < other.buffers.size(); ++i)
    if (written.overlaps(reach_of(code, other, i))) return true;
  return false;
}

bool are_apart(const RegionCode& code, const CallPlan& one, const CallPlan& two) {
  return !disturbs(code, one, two) && !disturbs(code, two, one);
}

}  // namespace

std::vector<CallsBeside> find_calls_beside(const RegionCode& code) {
  std::vector<CallsBeside> found;
  const std::vector<CallPlan>& calls = code.calls;
  for (size_t first = 0; first < calls.size(); ++first) {
    if (calls[first].times < many_times) continue;
    size_t last = first + 1;
    const auto is_beside = [&] { return last < calls.size() && are_apart(code, calls[first], calls[last]); };
    while (is_beside() && calls[last].times < many_times && last - first <= most_between) ++last;
    if (!is_beside() || calls[last].times < many_times) continue;
    found.push_back({first, last});
    first = last;
  }
  return found;
}

}  // namespace intarsia::halide
