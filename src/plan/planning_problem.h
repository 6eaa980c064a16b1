// Problem that all plans of one function solve: the graph, the devices, and the backends on them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/core_set.h"
#include "plan/placement.h"

namespace intarsia {

/// Slot for an executor inside the program, and the device that it is bound to.
struct DeviceSlot {
  std::string name;    // "accel"
  std::string kind;    // "sim"
  std::string device;  // "sim:0"
  uint32_t space = 0;  // number of the memory it works in
  /// Digest of the file of a device that declares its times (`times=FILE`), or a mark for a device of a
  /// plug-in that this machine lacks. Empty if times are measured. Declared times go by the names of nodes.
  std::string declared_times;
  std::optional<CoreSet> core_set = {};  // cores of a core set; nullopt for all of the machine
  std::string plugin_version = {};       // version of a device's plug-in; empty if it has none
  bool is_on_host = false;               // whether it works in the host's memory
  size_t alignment = 64;                 // alignment of values in its memory, in bytes
  uint32_t queues = 1;                   // runs that the device does at once

  /// Returns the number of its cores; 0 for all of the machine.
  int cores() const { return core_set ? core_set->size() : 0; }
  /// Returns how many of the wanted threads it runs.
  int threads(int wanted) const { return core_set ? std::min(wanted, core_set->size()) : wanted; }
};

/// Limit of a memory that a program may take as much of as it needs.
inline constexpr uint64_t no_limit = ~uint64_t{0};

/// Number of the host's memory: inputs come from it and outputs go to it.
inline constexpr uint32_t host_memory = 0;

struct PlanningProblem {
  Graph graph;
  std::vector<DeviceSlot> slots;
  std::vector<std::string> spaces;  // names of memories, each that of its first slot; the first is the host's
  std::vector<PlacementTarget> targets;
  std::vector<uint32_t> space_of_target;
  std::vector<uint64_t> memory_limits = {};  // bytes by memory, or no_limit; empty if none is limited

  uint64_t memory_limit(uint32_t space) const {
    return memory_limits.empty() ? no_limit : memory_limits[space];
  }
};

}  // namespace intarsia
