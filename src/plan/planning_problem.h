// What all plans of one function are made from: the graph, the devices, and the backends on them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/place_nodes.h"

namespace intarsia {

/// An executor's name inside the program.
struct DeviceSlot {
  std::string name;    // "accel"
  std::string kind;    // "sim"
  std::string device;  // "sim:0"
  uint32_t space = 0;  // number of the memory that it works in
  /// Of a device that declares its times (`times=FILE`): digest of the file; of one of a plug-in that this
  /// machine lacks: that it is declared. Empty: times are measured. What is declared is by the names of
  /// nodes.
  std::string declared_times;
  int cores = 0;                    // of a core set: the most threads that it runs; 0: any number
  std::string plugin_version = {};  // of a plug-in's device; empty: it is none

  /// How many of the wanted threads it runs.
  int threads(int wanted) const { return cores == 0 ? wanted : std::min(wanted, cores); }
};

/// Of a memory that a program may take as much of as it needs.
inline constexpr uint64_t no_limit = ~uint64_t{0};

/// The number of the host's memory: inputs come from it and outputs go to it.
inline constexpr uint32_t host_memory = 0;

struct PlanningProblem {
  Graph graph;
  std::vector<DeviceSlot> slots;
  std::vector<std::string> spaces;  // names of memories, each its first slot's; the first is the host's
  std::vector<PlacementTarget> targets;
  std::vector<uint32_t> space_of_target;
  std::vector<uint64_t> memory_limits = {};  // bytes by memory, or no_limit; empty: none has one

  uint64_t memory_limit(uint32_t space) const {
    return memory_limits.empty() ? no_limit : memory_limits[space];
  }
};

}  // namespace intarsia
