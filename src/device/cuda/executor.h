// CUDA devices as executors: "cuda:N".
#pragma once

#include "base/device_name.h"
#include "device/executor.h"

namespace intarsia {

/// Makes an executor for the device of the name's number in the driver's order. Errors: no CUDA, no such
/// device, or an architecture older than our kernels' code.
Result<std::shared_ptr<Executor>> make_cuda_executor(const DeviceName& name);

}  // namespace intarsia
