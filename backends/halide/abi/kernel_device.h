// Target of a kernel's code.
#pragma once

#include <cstdint>

namespace intarsia::halide {

/// Device that computes the elements. On a device other than the CPU, the code that is called only launches
/// work items, and every argument has one more axis, the last, of stride 1: the argument lies at the last
/// index of this axis, whose size thus tells how many elements lie before the argument in its memory.
enum class KernelDevice : uint8_t {
  cpu,
  opencl,      // processor driven by OpenCL: a work item is an iteration of a loop
  opencl_gpu,  // GPU driven by OpenCL: the work items of a group run side by side
  cuda
};
constexpr uint8_t kernel_device_count = 4;

}  // namespace intarsia::halide
