// Times the kernels of a region by running it here.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "device/executable.h"
#include "target/target.h"
#include "target/tuner.h"

namespace intarsia {

/// Times each kernel of `batch`, which `backend` compiled, as Tuner::time_kernels() says. In a round each
/// kernel runs once, so that its constants are as cold as the other kernels leave them. `is_cancelled` (may
/// be empty) is polled in each round, and ends the timing with an error.
Result<std::vector<Timing>> time_kernels(const KernelBatch& batch, const RunBackend& backend, int threads,
                                         const std::function<bool()>& is_cancelled);

}  // namespace intarsia
