// An OpenCL device as an executor: its memory, and kernels that regions launch.
#pragma once

#include "device/executor.h"

namespace intarsia {

/// `name`: "opencl:N" for the N-th device of this machine (opencl_devices.h). Error (not_found): it has no
/// such device, and why.
Result<std::shared_ptr<Executor>> make_opencl_executor(const std::string& name);

}  // namespace intarsia
