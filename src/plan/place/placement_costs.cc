#include "plan/place/placement_costs.h"

#include <cmath>

#include "plan/partition/grow_regions.h"

namespace intarsia {
namespace {

/// Returns the spaces, other than its own, in which a value is needed.
std::vector<uint32_t> spaces_needing(const PlacementCosts& costs, const CostedValue& value, uint32_t home,
                                     const std::vector<uint32_t>& target_of) {
  std::vector<uint32_t> spaces;
  const auto need = [&](uint32_t space) {
    if (space != home && std::ranges::find(spaces, space) == spaces.end()) spaces.push_back(space);
  };
  for (uint32_t reader : value.readers) need(costs.targets[target_of[reader]].space);
  if (value.is_output) need(host_memory);
  return spaces;
}

}  // namespace

AtomValues find_atom_values(const PlacementCosts& costs) {
  AtomValues result{Neighbors(costs.times.size()), Neighbors(costs.times.size())};
  for (uint32_t v = 0; v < costs.values.size(); ++v) {
    const CostedValue& value = costs.values[v];
    if (value.producer != no_atom) result.makes[value.producer].push_back(v);
    for (uint32_t reader : value.readers) result.reads[reader].push_back(v);
  }
  return result;
}

int64_t PlacementCost::total() const { return add_times(add_times(nodes, copies), launches); }

int64_t copy_time(const PlacementCosts& costs, int64_t bytes, uint32_t from, uint32_t to) {
  if (from == to) return 0;
  const Link& link = costs.links[from][to];
  if (link.latency >= too_long) return never;
  const double transfer = static_cast<double>(bytes) * link.nanoseconds_per_byte;
  if (!(transfer < static_cast<double>(too_long - link.latency))) return never;
  return link.latency + std::llround(transfer);
}

uint32_t home_of(const PlacementCosts& costs, const CostedValue& value,
                 const std::vector<uint32_t>& target_of) {
  return value.producer == no_atom ? host_memory : costs.targets[target_of[value.producer]].space;
}

Neighbors find_reading_atoms(const PlacementCosts& costs) {
  Neighbors next(costs.times.size());
  for (const CostedValue& value : costs.values) {
    if (value.producer == no_atom) continue;
    std::vector<uint32_t>& readers = next[value.producer];
    readers.insert(readers.end(), value.readers.begin(), value.readers.end());
  }
  for (std::vector<uint32_t>& readers : next) {
    std::ranges::sort(readers);
    readers.erase(std::ranges::unique(readers).begin(), readers.end());
  }
  return next;
}

int64_t launch_time(const PlacementCosts& costs, const Neighbors& next,
                    const std::vector<uint32_t>& target_of) {
  int64_t launches = 0;
  for (const Region& region : grow_regions(next, target_of)) launches += costs.targets[region.target].launch;
  return launches;
}

PlacementCost cost_of(const PlacementCosts& costs, const std::vector<uint32_t>& target_of) {
  PlacementCost cost;
  for (size_t atom = 0; atom < target_of.size(); ++atom) {
    const int64_t time = costs.times[atom][target_of[atom]];
    cost.nodes = add_times(cost.nodes, time < too_long ? time : never);
  }
  for (const CostedValue& value : costs.values) {
    const uint32_t home = home_of(costs, value, target_of);
    for (uint32_t space : spaces_needing(costs, value, home, target_of))
      cost.copies = add_times(cost.copies, copy_time(costs, value.bytes, home, space));
  }
  cost.launches = launch_time(costs, find_reading_atoms(costs), target_of);
  return cost;
}

}  // namespace intarsia
