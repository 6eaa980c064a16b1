// Times the kernels of a region by running it on a device outside the host's memory.
#pragma once

#include "device/executor.h"
#include "measure/time_kernels.h"

namespace intarsia {

/// Times kernels as time_kernels(). Each is waited for, so a launch is part of its time, the same for all.
Result<std::vector<Timing>> time_device_kernels(const KernelBatch& batch, const RunBackend& backend,
                                                Executor& device, const std::function<bool()>& is_cancelled);

}  // namespace intarsia
