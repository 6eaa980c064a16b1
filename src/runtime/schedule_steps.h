// Where and in which order the steps of a function are begun.
#pragma once

#include <cstdint>
#include <vector>

#include "program/step_order.h"
#include "runtime/bind_program.h"

namespace intarsia {

struct StepSchedule {
  std::vector<Queue*> queues;  // by step; null: the caller's thread
  StepOrder order;
};

/// A step waits for those that write what it reads, for those that use memory that it overwrites, and for
/// what the description says. Where nothing overlaps every step is the caller's.
StepSchedule schedule_steps(const BoundProgram& program, const fbs::FunctionT& function);

}  // namespace intarsia
