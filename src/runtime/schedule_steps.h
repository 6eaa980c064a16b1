// Schedule of a function's steps: where and in which order they start.
#pragma once

#include <cstdint>
#include <vector>

#include "program/step_order.h"
#include "runtime/bind_program.h"

namespace intarsia {

struct StepSchedule {
  std::vector<Queue*> queues;  // indexed by step; null: the caller's thread
  StepOrder order;
};

/// Schedules the steps of a function. A step waits for those that write what it reads, those that use memory
/// that it overwrites, and what the description says. Where nothing overlaps, every step is the caller's.
StepSchedule schedule_steps(const BoundProgram& program, const fbs::FunctionT& function);

}  // namespace intarsia
