// CUDA devices as executors: "cuda:N".
#pragma once

#include "device/executor.h"

namespace intarsia {

/// Makes an executor for the device of this number in the driver's order. Errors: no CUDA, no such device, or
/// an architecture older than our kernels' code.
Result<std::shared_ptr<Executor>> make_cuda_executor(const std::string& name, size_t number);

}  // namespace intarsia
