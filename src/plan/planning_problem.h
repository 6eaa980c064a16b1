// What all plans of one function are made from: the graph, the devices, and the backends on them.
#pragma once

#include "plan/place_nodes.h"

namespace intarsia {

/// A device's name inside the program.
struct DeviceSlot {
  std::string name;    // "accel"
  std::string kind;    // "sim"
  std::string device;  // "sim:0"
};

/// The number of the host's memory: inputs come from it and outputs go to it.
inline constexpr uint32_t host_slot = 0xffffffff;

struct PlanningProblem {
  Graph graph;
  std::vector<DeviceSlot> slots;
  uint32_t cpu_slot = 0;  // the slot on the CPU
  std::vector<PlacementTarget> targets;
  std::vector<uint32_t> memory_of_target;  // a slot, or host_slot

  /// "accel"; the slot on the CPU for host_slot.
  const std::string& memory_name(uint32_t memory) const {
    return slots[memory == host_slot ? cpu_slot : memory].name;
  }
};

}  // namespace intarsia
