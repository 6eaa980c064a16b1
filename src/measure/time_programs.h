// Times whole programs by running them here.
#pragma once

#include <span>
#include <vector>

#include "compile/compile_request.h"
#include "device/executable.h"

namespace intarsia {

/// Runs the programs, which are plans of one model, on the same filled inputs (strings are short words). They
/// take turns, so that other load on the machine affects all alike, and their values are compared
/// (find_faults.h). A file is removed as soon as its program is open. Returns one result per program: it may
/// fail to load or run; an input without a fixed shape, or that is not a tensor, cannot be filled; and what
/// runs in frameworks may take too long to load (limit_loading.h).
std::vector<Result<PlanTimes>> time_programs(std::vector<TemporaryFile> programs,
                                             std::span<const RunBackend> backends,
                                             const TimingOptions& options);

}  // namespace intarsia
