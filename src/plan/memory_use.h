// What plans need of the memories that they run in.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/plan.h"

namespace intarsia {

/// Bytes of one memory that a program takes with one session.
struct MemoryUse {
  uint64_t constants = 0;  // as regions have them, equal ones once
  uint64_t arena = 0;      // values between regions, and workspaces
  uint64_t total() const { return constants + arena; }
};

/// One entry a memory.
using MeasureMemory = std::function<Result<std::vector<MemoryUse>>(const Plan& plan)>;

/// How a plan's memory becomes known; both are absent where nothing limits it.
struct MemoryTools {
  MeasureMemory measure;   // of the compiled plan
  MeasureMemory estimate;  // of one that need not be compiled
};

}  // namespace intarsia
