// Regions in running order, with the copies between devices.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "plan/partition.h"
#include "plan/planning_problem.h"

namespace intarsia {

/// Value in one memory.
struct PlacedValue {
  ValueId value = no_value;
  uint32_t space = host_memory;
  auto operator<=>(const PlacedValue&) const = default;
};

struct Step {
  enum class Kind { run, copy } kind = Kind::run;
  uint32_t region = 0;   // region to run
  PlacedValue from, to;  // value to copy, in two memories
  bool operator==(const Step&) const = default;
};

/// Steps in order: a region runs when everything it reads is in its memory.
using StepList = std::vector<Step>;

}  // namespace intarsia
