#include "backends/halide/schedule/isa.h"

#include <unistd.h>

#include "base/cpu_level.h"

namespace intarsia::halide {
namespace {

/// Returns the L2 cache of a core, within what measurements cover: virtual machines may hide it, and clusters
/// of small cores share a large one.
int64_t l2_of_this_machine() {
  const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes <= 0 ? typical_l2_bytes : std::clamp<int64_t>(bytes, typical_l2_bytes, 2 * typical_l2_bytes);
}

}  // namespace

Result<Isa> make_isa(const std::string& cpu, KernelDevice device) {
  const CodeTarget target = TRY(resolve_cpu(cpu));
  // A work item has single elements: the items of a group, side by side, are its vectors.
  if (device == KernelDevice::opencl_gpu || device == KernelDevice::cuda)
    return Isa{target.level, 4, 16, device, 64};
  const int64_t l2_bytes = cpu == "native" ? l2_of_this_machine() : target.l2_bytes;
  const DotProducts dots = device == KernelDevice::cpu ? target.dot_products : DotProducts::none;
  return Isa{target.level, target.vector_bytes, target.registers, device, 1, l2_bytes, dots};
}

}  // namespace intarsia::halide
