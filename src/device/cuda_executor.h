// CUDA devices as executors: "cuda:N".
#pragma once

#include "device/executor.h"

namespace intarsia {

/// `number`: of the device in the driver's order. Error: no CUDA, no such device, or its architecture is
/// older than our kernels' code.
Result<std::shared_ptr<Executor>> make_cuda_executor(const std::string& name, size_t number);

}  // namespace intarsia
