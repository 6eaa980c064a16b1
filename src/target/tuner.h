// Interface for choosing kernels by measurement, passed to a backend by the code that combines measuring and
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

/// Way to choose kernels: analytically, or by measured times of few or of many variants.
enum class Tune { off, fast, full };

/// Range of bytes in a region's workspace.
struct ByteRange {
  size_t begin = 0, end = 0;
};

/// Kernels to time, as a region without inputs and outputs.
struct KernelBatch {
  struct Uses {
    std::vector<ByteRange> read;  // ranges read, except constants
    ByteRange written;
  };
  const CompiledRegion& region;
  std::vector<Uses> uses;  // uses of each kernel, in the order of calls
};

/// Tuner of one compile. Backends count their work in it.
struct Tuner {
  Tune effort = Tune::fast;
  CostTable* costs = nullptr;
  Probe probe;
  /// Checks whether kernels can be timed on the device.
  std::function<bool(const std::string& device)> has_device;
  /// Loads the batch's region on the device and times each kernel, in the order of calls, over several
  /// rounds, so that all other kernels run between two runs of one. With several threads, each has first
  /// written its part of the kernel's input, and the clock stops when each has read its part of the output,
  /// as the kernels before and after would do.
  std::function<Result<std::vector<Timing>>(const KernelBatch& batch, const std::string& device, int threads)>
      time_kernels;
  /// Checks whether there is time left for another batch.
  std::function<bool()> may_go_on;

  int measured = 0;    // variants that this compile timed
  int remembered = 0;  // variants whose times were known
  int disturbed = 0;   // measured variants timed while other processes took cores
};

}  // namespace intarsia
