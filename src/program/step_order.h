// Which steps of a function may run at the same time: the same answer for who plans memory and for who runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "program/program.h"

namespace intarsia {

/// The caller's own thread, as a queue. It runs whatever is on the first slot of the host's that
/// has regions.
inline constexpr uint32_t callers_queue = 0;

/// The queue of each step: the caller's, or 1 + 2 x executor for what the executor computes, and one more for
/// copies to and from its space. `executor_of_slot`: numbers; slots that share one have the same.
std::vector<uint32_t> assign_queues(const fbs::ProgramT& program, const fbs::FunctionT& function,
                                    std::span<const uint32_t> executor_of_slot);

/// By step: the earlier steps that make what it reads, and those that the description says.
std::vector<std::vector<uint32_t>> data_dependencies(const fbs::FunctionT& function);

struct StepOrder {
  /// In which steps are begun: those on queues as soon as what the caller does before them is done.
  std::vector<uint32_t> sequence;
  std::vector<std::vector<uint32_t>> waits;  // by step: those on other queues that it must wait for
  std::vector<std::vector<bool>> before;     // by step: which are done before it begins, whatever the timing
  bool overlaps = false;  // some steps may run at the same time; if not, the caller may run them all
};

/// `depends` by step: earlier steps. Quadratic in steps.
///   step 0: copy to sim:0, 1: run on the CPU, 2: run on sim:0, 3: copy back, 4: run on the CPU
///   sequence 0 2 3 1 4; 4 waits for 3; 1 runs beside 0, 2 and 3
StepOrder order_steps(std::span<const uint32_t> queue_of_step,
                      const std::vector<std::vector<uint32_t>>& depends);

/// Beyond this many steps there are too many pairs to look at, and overlap adds little to what each step
/// does.
inline constexpr size_t max_overlapping_steps = 4096;

}  // namespace intarsia
