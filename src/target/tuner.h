// What a backend needs to choose kernels by measurement, handed in by whoever wires measuring into compiling.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "target/cost_database.h"

namespace intarsia {

struct CompiledRegion;

/// How kernels are chosen: analytically, or by the measured times of few or of many variants.
enum class Tune { off, fast, full };

/// Of one compile. Backends count what they did.
struct Tuner {
  Tune effort = Tune::fast;
  CostDatabase* costs = nullptr;
  /// Loads a region that has no inputs and outputs and gives the nanoseconds of each of its kernels, in the order of
  /// calls: the least of several rounds, so that between two runs of a kernel all the others ran.
  std::function<Result<std::vector<int64_t>>(const CompiledRegion& region, int threads)> time_kernels;
  /// Is there time left for another batch?
  std::function<bool()> may_go_on;
  std::function<void(int done, int total)> progress;

  int measured = 0;    // variants that this compile timed
  int remembered = 0;  // variants whose times were known
};

}  // namespace intarsia
