// Times whole programs by running them here.
#pragma once

#include <span>
#include <vector>

#include "compile/compile_request.h"
#include "device/executable.h"

namespace intarsia {

/// Runs the programs, which are plans of one model, on the same filled inputs (strings are short words) and
/// takes the least time of each. They take turns, so that whatever else the machine does meets all alike. A
/// file is removed as soon as its program is open. One result a program: it may not load or run; an input
/// that is not of a fixed shape, or is no tensor, cannot be filled. After the first round, none begins when
/// `may_go_on` says no.
std::vector<Result<PlanTimes>> time_programs(std::vector<TemporaryFile> programs,
                                             std::span<const RunBackend> backends, int threads,
                                             const std::function<bool()>& may_go_on);

}  // namespace intarsia
