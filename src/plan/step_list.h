// The regions in running order, with the copies between devices.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "plan/partition_graph.h"
#include "plan/planning_problem.h"

namespace intarsia {

/// A value in one memory.
struct PlacedValue {
  ValueId value = no_value;
  uint32_t space = host_memory;
  auto operator<=>(const PlacedValue&) const = default;
};

struct Step {
  enum class Kind { run, copy } kind = Kind::run;
  uint32_t region = 0;   // run
  PlacedValue from, to;  // copy: the same value in two memories
  bool operator==(const Step&) const = default;
};

/// Steps in order: a region runs when all that it reads is in its memory.
using StepList = std::vector<Step>;

}  // namespace intarsia
