#include "backends/halide/schedule/isa.h"

#include "base/cpu_level.h"

namespace intarsia::halide {

Result<Isa> make_isa(const std::string& cpu, KernelDevice device) {
  std::string level = TRY(resolve_cpu_level(cpu));
  // Vectors are as wide as one instruction loads; sums of a work item take about a quarter of the registers
  // that it may have, so that many items share a multiprocessor.
  if (device == KernelDevice::opencl_gpu || device == KernelDevice::cuda)
    return Isa{level, 16, 16, device, 64};
  if (level == "x86-64-v4") return Isa{level, 64, 32, device};
  if (level == "x86-64-v3") return Isa{level, 32, 16, device};
  if (level == "x86-64-v2") return Isa{level, 16, 16, device};
  return fail("halide: cannot generate code for cpu level '{}'; choose x86-64-v2, x86-64-v3 or x86-64-v4",
              level);
}

}  // namespace intarsia::halide
