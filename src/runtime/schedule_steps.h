// Which steps of a function may run at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/bind_program.h"

namespace intarsia {

/// A lane is a thread with its steps in order. Lane 0 is the caller's, with everything that runs in the
/// host's memory; every other device has one, with its steps and the copies to and from it.
///
///   step 0: copy x -> x@sim    lane 1             waits for -
///   step 1: run on cpu         lane 0             waits for -
///   step 2: run on sim:0       lane 1             waits for -        (step 0 is before it in its lane)
///   step 3: copy y@sim -> y    lane 1
///   step 4: run on cpu         lane 0             waits for 3
struct StepSchedule {
  std::vector<std::vector<uint32_t>> lanes;
  std::vector<std::vector<uint32_t>> waits;  // by step: those of other lanes that must be done before it
  /// False: the dependencies leave only one order, so one thread is enough.
  bool overlaps = false;
};

/// A step waits for those that write what it reads, for those that use memory that it overwrites (the arena
/// plan assumes that steps run one after the other), and for what the description says.
StepSchedule schedule_steps(const BoundProgram& program, const fbs::FunctionT& function);

}  // namespace intarsia
