// Removes copies that are not needed.
#pragma once

#include "plan/partition/insert_copies.h"

namespace intarsia {

/// Keeps the first copy of a value to a memory and drops the later ones; never adds any.
///   copy x host->sim; run a; copy x host->sim; run b   =>   copy x host->sim; run a; run b
StepList elide_copies(const StepList& steps);

/// Checks independently that every value is where a region reads it, no value comes twice to one memory, no
/// constant is copied, and outputs end on the host.
Status verify_steps(const Graph& graph, const Partition& partition,
                    const std::vector<uint32_t>& space_of_target, const StepList& steps);

}  // namespace intarsia
