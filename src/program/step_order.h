// Order of a function's steps, and which may run at the same time: the same for planning memory and running.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "program/program.h"

namespace intarsia {

/// Queue of the caller's own thread, which runs whatever is on the first host slot that has regions.
inline constexpr uint32_t callers_queue = 0;

/// Assigns a queue to each step: the caller's, or 1 + 2 x executor for what the executor computes, and one
/// more for copies to and from its space. Slots that share an executor have the same `executor_of_slot`.
std::vector<uint32_t> assign_queues(const fbs::ProgramT& program, const fbs::FunctionT& function,
                                    std::span<const uint32_t> executor_of_slot);

/// Returns, by step, the earlier steps that make what it reads, and those that the description lists.
std::vector<std::vector<uint32_t>> data_dependencies(const fbs::FunctionT& function);

/// Orders steps of unknown duration: what other queues can start comes before what the caller does itself,
/// unless it depends on that. `depends`: earlier steps, by step.
///   step 0: copy to sim:0, 1: run on the CPU, 2: run on sim:0, 3: copy back, 4: run on the CPU
///   0 2 3 1 4
std::vector<uint32_t> sequence_steps(std::span<const uint32_t> queue_of_step,
                                     const std::vector<std::vector<uint32_t>>& depends);

/// Order in which steps run; each queue runs its steps one after the other.
struct StepOrder {
  std::vector<std::vector<uint32_t>> waits;  // steps on other queues that it must wait for, by step
  std::vector<std::vector<bool>> before;     // whether a step is done before it starts, whatever the timing
  bool overlaps = false;  // whether some steps may run at the same time; if not, the caller may run all
};

/// Orders steps; `depends`: earlier steps, by step. Quadratic in steps.
///   the steps above: 2 waits for 0, 3 for 2, 4 for 3 and 1; 1 runs beside 0, 2 and 3
StepOrder order_steps(std::span<const uint32_t> queue_of_step,
                      const std::vector<std::vector<uint32_t>>& depends);

/// Checks whether two pieces of memory may be in use at the same time. Each is given by the steps that use it,
/// in their order, the one that makes it first.
bool are_alive_at_once(std::span<const uint32_t> one, std::span<const uint32_t> other,
                       const StepOrder& order);

/// Most steps for which overlap is sought: beyond it there are too many pairs to look at, and overlap adds
/// little to what each step does.
inline constexpr size_t max_overlapping_steps = 4096;

}  // namespace intarsia
