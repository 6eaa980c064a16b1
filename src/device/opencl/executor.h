// Executor of an OpenCL device: its memory, and kernels that regions launch.
#pragma once

#include "base/device_name.h"
#include "device/executor.h"

namespace intarsia {

/// Makes the executor "opencl:N" for the N-th device of this machine (devices.h). It computes only on the
/// name's cores (cores.h), or on any. Errors: (not_found) the machine has no such device, and why; or the
/// device cannot be pinned to the cores.
Result<std::shared_ptr<Executor>> make_opencl_executor(const DeviceName& name);

}  // namespace intarsia
