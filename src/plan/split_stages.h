// Splits nodes into stages of a pipeline, one a device, so that the slowest stage is as fast as possible.
#pragma once

#include "plan/stage_problem.h"

namespace intarsia {

/// The best split that was found, and a bound that no split is below: they are equal where all splits could
/// be compared, which is so for graphs that are nearly chains. Not every device need have a stage. `max_load`
/// is infinite where no split was found. The problem is verified. The same problem has the same result.
StageSplit split_stages(const StageProblem& problem);

}  // namespace intarsia
