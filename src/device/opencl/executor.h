// Executor of an OpenCL device: its memory, and kernels that regions launch.
#pragma once

#include "device/executor.h"

namespace intarsia {

/// Makes the executor "opencl:N" for the N-th device of this machine (devices.h). It computes only on
/// `cores` (cores.h), or on any if nullopt. Errors: (not_found) the machine has no such device, and
/// why; or the device cannot be pinned to the cores.
Result<std::shared_ptr<Executor>> make_opencl_executor(const std::string& name,
                                                       const std::optional<CoreSet>& cores);

}  // namespace intarsia
