// Interface for choosing kernels by measurement, passed to a backend by the code that combines measuring and
// compiling.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/dtype.h"
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

/// Tensor that a timed kernel reads or writes.
struct KernelTensor {
  DType dtype = DType::undefined;
  std::vector<int32_t> extents, strides;  // strides in elements
  bool is_constant = false;               // whether it is a constant of the region, or in its workspace
  size_t place = 0;                       // number of the constant, or offset in the workspace in bytes
};

/// Kernel, as far as those need to know it who call its code without the backend's run half.
struct TimedKernel {
  CostKey key;
  std::string symbol;                 // name of its code
  int64_t times = 1;                  // runs in a row, which are timed as one
  std::vector<KernelTensor> tensors;  // inputs, then the output
};

/// Kernels to time, as a region without inputs and outputs.
struct KernelBatch {
  struct Uses {
    std::vector<ByteRange> read;  // ranges read, except constants
    ByteRange written;
  };
  const CompiledRegion& region;
  std::vector<Uses> uses;            // uses of each kernel, in the order of calls
  std::vector<TimedKernel> kernels;  // in the same order
};

/// Tuner of one compile. Backends count their work in it.
struct Tuner {
  Tune effort = Tune::fast;
  bool tries_all =
      false;  // whether times are not known yet, so that all variants matter that they may lead to
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
  int untimed = 0;     // variants left without a time
  int disturbed = 0;   // measured variants timed while other processes took cores
};

}  // namespace intarsia
