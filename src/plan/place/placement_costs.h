// Costs of placing, as data: atoms (groups of nodes that stay together), the values between them, targets,
// and the links between memory spaces. All times are in nanoseconds.
#pragma once

#include <algorithm>

#include "plan/partition/directed_graph.h"
#include "plan/planning_problem.h"
#include "plan/segment_costs.h"

namespace intarsia {

struct CostedTarget {
  uint32_t space = host_memory;
  int64_t launch = 0;  // time to launch a region, besides its nodes
};

inline constexpr uint32_t no_atom = 0xffffffff;

struct CostedValue {
  uint32_t producer = no_atom;    // no_atom for an input of the graph, which starts in the host's memory
  std::vector<uint32_t> readers;  // readers, each once, without the producer
  int64_t bytes = 0;
  bool is_output = false;  // whether it is an output of the graph, which ends in the host's memory
};

struct PlacementCosts {
  std::vector<CostedTarget> targets;
  std::vector<std::vector<Link>> links;     // [from][to] by space; that of a space to itself is not used
  std::vector<std::vector<int64_t>> times;  // [atom][target]; a pinned atom has one that is not `never`
  std::vector<CostedValue> values;          // atoms read from each other without a cycle
};

/// Values (indices) that each atom reads, and those that it makes.
struct AtomValues {
  std::vector<std::vector<uint32_t>> reads, makes;
};
AtomValues find_atom_values(const PlacementCosts& costs);

/// Cost of a whole run, in which regions run one after the other.
struct PlacementCost {
  int64_t nodes = 0, copies = 0, launches = 0;
  /// Returns the sum; `never` if the placement cannot run.
  int64_t total() const;
  bool operator==(const PlacementCost&) const = default;
};

/// Returns the time to copy a value of this size: 0 within a space, `never` without a link.
int64_t copy_time(const PlacementCosts& costs, int64_t bytes, uint32_t from, uint32_t to);

/// Returns the space that the value is made in.
uint32_t home_of(const PlacementCosts& costs, const CostedValue& value,
                 const std::vector<uint32_t>& target_of);

/// Returns, for each atom, those that read what it makes, each once.
Neighbors find_reading_atoms(const PlacementCosts& costs);

/// Returns the time of launches of the regions that partitioning would make; `next` is from
/// find_reading_atoms.
int64_t launch_time(const PlacementCosts& costs, const Neighbors& next,
                    const std::vector<uint32_t>& target_of);

/// Returns what placing minimizes: the atoms' times; one copy of a value into every space where it is read
/// (or, for an output, the host's) and was not made; one launch per region. `never` where one of these is
/// impossible.
///   x -> a@accel -> b@cpu:  a + b, copies of x and of a's value, two launches
PlacementCost cost_of(const PlacementCosts& costs, const std::vector<uint32_t>& target_of);

}  // namespace intarsia
