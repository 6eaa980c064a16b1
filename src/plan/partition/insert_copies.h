// Copies that bring every value to where it is needed.
#pragma once

#include <span>

#include "plan/step_list.h"

namespace intarsia {

/// Returns a run step per region, and before it a copy for every value that it reads and that was made in
/// another memory; at the end a copy to the host for every output made elsewhere. Naive and complete: a value
/// read twice is copied twice. `space_of_target[t]` is the memory that target t works in.
///   x -> a@sim -> b@cpu   =>   copy x host->sim; run a; copy a sim->host; run b
StepList insert_copies(const Graph& graph, const Partition& partition,
                       const std::vector<uint32_t>& space_of_target);

/// Returns the steps for some regions alone, which read what others make from the host's memory, and bring
/// `outputs` there.
StepList insert_copies(const Graph& graph, const Partition& partition,
                       const std::vector<uint32_t>& space_of_target, std::span<const uint32_t> regions,
                       const std::vector<ValueId>& outputs);

}  // namespace intarsia
