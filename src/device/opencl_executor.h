// An OpenCL device as an executor: its memory, and kernels that regions launch.
#pragma once

#include "device/executor.h"

namespace intarsia {

/// `name`: "opencl:N" for the N-th device of this machine (opencl_devices.h). `cores`: it computes on these
/// alone (opencl_cores.h); nothing: on any. Errors (not_found): the machine has no such device, and why; or
/// the device cannot be held to the cores.
Result<std::shared_ptr<Executor>> make_opencl_executor(const std::string& name,
                                                       const std::optional<CoreSet>& cores);

}  // namespace intarsia
