// Executable of a region plan: one kernel call after the other, in the calling thread.
#pragma once

#include <memory>
#include <vector>

#include "backends/reference/kernel.h"
#include "backends/reference/region_plan.h"
#include "device/executable.h"

namespace intarsia::reference {

/// Makes an executable. `kernels` has one entry per call; `constants` outlive the executable.
std::unique_ptr<Executable> make_plan_executable(RegionPlan plan, std::vector<KernelFunction> kernels,
                                                 std::vector<ConstTensorView> constants);

}  // namespace intarsia::reference
