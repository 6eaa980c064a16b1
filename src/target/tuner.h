// What a backend needs to choose kernels by measurement, passed in by the code that combines measuring and
// compiling.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "target/comparable_costs.h"

namespace intarsia {

struct CompiledRegion;

/// How kernels are chosen: analytically, or by the measured times of few or of many variants.
enum class Tune { off, fast, full };

/// Bytes of a region's workspace.
struct ByteRange {
  size_t begin = 0, end = 0;
};

/// Kernels to time, as a region without inputs and outputs.
struct KernelBatch {
  struct Uses {
    std::vector<ByteRange> read;  // except for constants
    ByteRange written;
  };
  const CompiledRegion& region;
  std::vector<Uses> uses;  // of each kernel, in the order of calls
};

/// Of one compile. Backends count what they did.
struct Tuner {
  Tune effort = Tune::fast;
  CostTable* costs = nullptr;
  Probe probe;
  /// Can kernels be timed on the device?
  std::function<bool(const std::string& device)> has_device;
  /// Loads the batch's region on the device and times each kernel, in the order of calls, over several
  /// rounds, so that all other kernels run between two runs of one. With threads, each of them has written
  /// its part of what the kernel reads, and the clock stops when each has read its part of what was written,
  /// as the kernels before and after would do.
  std::function<Result<std::vector<Timing>>(const KernelBatch& batch, const std::string& device, int threads)>
      time_kernels;
  /// Is there time left for another batch?
  std::function<bool()> may_go_on;

  int measured = 0;    // variants that this compile timed
  int remembered = 0;  // variants whose times were known
  int disturbed = 0;   // of those measured: while other processes took cores
};

}  // namespace intarsia
