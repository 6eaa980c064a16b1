// Places of a region's values in its workspace: values that are never alive at the same time share bytes, and
// an output that is written over an input has its place.
#pragma once

#include <map>

#include "backends/halide/memory/lifetimes.h"
#include "target/target.h"

namespace intarsia::halide {

/// Bytes that kernels keep for themselves while they run.
struct Scratch {
  enum class Place : uint8_t {
    apart,   // one for all calls, which is that of no value
    shared,  // one for all calls, perhaps that of values that no call with scratch finds alive
    own      // one for each call, beside the values that it finds alive
  };
  std::vector<size_t> calls;  // bytes that a worker takes at most, by call; multiples of 64
  size_t workers = 0;         // 0 if no kernel takes any
  Place place = Place::apart;

  size_t bytes() const;  // the most that a worker takes in any call
  size_t total() const { return bytes() * workers; }
  /// Returns the bytes of the place that a call uses.
  size_t total_of(size_t call) const { return place == Place::own ? calls[call] * workers : total(); }
};

struct WorkspacePlan {
  std::map<ValueId, size_t> offsets;    // bytes, by root
  std::vector<size_t> scratch_offsets;  // by call, if there is scratch
  size_t bytes = 0;
};

/// Places the roots of a region whose sizes are numbers, and the kernels' own memory.
WorkspacePlan plan_workspace(const Layouts& layouts, const std::vector<Call>& calls,
                             const Scratch& scratch = {});

/// Values that are alive during one call, and what they take.
struct LivePeak {
  size_t call = 0;
  std::vector<ValueId> roots;  // the largest first
  size_t bytes = 0;
};

/// Returns the call during which the values in the workspace take most. It takes no less in any plan with
/// this order of calls.
LivePeak find_live_peak(const Layouts& layouts, const std::vector<Call>& calls);

/// Returns the values of that peak by their source nodes, those of one node as one; none with open sizes.
std::vector<LiveValue> describe_peak(const Layouts& layouts, const std::vector<Call>& calls);

}  // namespace intarsia::halide
