// What a kernel's code is for.
#pragma once

#include <cstdint>

namespace intarsia::halide {

/// Where its elements are computed. On a device the code that is called only launches work items, and every
/// argument has one more axis, the last, of stride 1: the argument lies at the last index of it, so that its
/// size says how many elements lie before the argument in its memory.
enum class KernelDevice : uint8_t {
  cpu,
  opencl,      // a processor that OpenCL drives: a work item is a loop's iteration
  opencl_gpu,  // groups of work items run side by side
  cuda
};
constexpr uint8_t kernel_device_count = 4;

}  // namespace intarsia::halide
