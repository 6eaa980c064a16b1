// Memory that plans need.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/chosen_stage.h"
#include "plan/plan.h"
#include "target/target.h"

namespace intarsia {

/// Bytes of one memory that a program takes with one session.
struct MemoryUse {
  uint64_t constants = 0;  // constants in the form that regions keep, equal ones once
  uint64_t arena = 0;      // values between regions, and workspaces
  /// Values of its only region that are alive when that takes most, the largest first; empty if there are
  /// several regions, or they are unknown.
  std::vector<LiveValue> peak = {};
  size_t scratch = 0;  // what kernels of its only region keep beside them
  size_t stack = 0;    // most that one of its kernels takes of the stack
  uint64_t total() const { return constants + arena; }
};

/// Leaves out what is not in the memory that is limited where code and constants are in flash.
inline void leave_out_constants(std::vector<MemoryUse>& uses) {
  for (MemoryUse& use : uses) use.constants = 0;
}

/// Function that returns a plan's use of each memory.
using MeasureMemory = std::function<Result<std::vector<MemoryUse>>(const Plan& plan)>;

/// Function that returns a plan's use of each memory with the sessions of all stages' executors.
using MeasureStages =
    std::function<Result<std::vector<MemoryUse>>(const Plan& plan, const std::vector<ChosenStage>& stages)>;

/// Functions that find a plan's memory use; absent where nothing limits it.
struct MemoryTools {
  MeasureMemory measure;   // measures the compiled plan
  MeasureMemory estimate;  // estimates a plan that need not be compiled
  MeasureStages measure_stages;
};

}  // namespace intarsia
