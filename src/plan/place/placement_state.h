// Placement that changes, and the cost of its atoms and copies.
#pragma once

#include <compare>

#include "plan/place/placement_costs.h"

namespace intarsia {

/// Sum of costs, and the number of them that are `never`, which counts more.
struct CostSum {
  int64_t impossible = 0, nanoseconds = 0;

  void add(int64_t cost) { (cost < too_long ? nanoseconds : impossible) += cost < too_long ? cost : 1; }
  void subtract(int64_t cost) { (cost < too_long ? nanoseconds : impossible) -= cost < too_long ? cost : 1; }
  auto operator<=>(const CostSum&) const = default;
};

/// Placement with its cost. `costs` and `values_of` (find_atom_values) outlive it.
class PlacementState {
 public:
  PlacementState(const PlacementCosts& costs, const AtomValues& values_of, std::vector<uint32_t> target_of);

  const std::vector<uint32_t>& target_of() const { return target_of_; }
  /// Returns the cost of atoms and copies, as cost_of counts them.
  const CostSum& cost() const { return cost_; }
  /// Moves the atom. Linear in its values and the number of spaces.
  void move(uint32_t atom, uint32_t target);

 private:
  int64_t copy(uint32_t value, uint32_t from, uint32_t to) const {
    return copy_time(costs_, costs_.values[value].bytes, from, to);
  }
  uint32_t& readers(uint32_t value, uint32_t space) { return readers_[value * costs_.links.size() + space]; }
  void start_reading(uint32_t value, uint32_t space);
  void stop_reading(uint32_t value, uint32_t space);
  void move_home(uint32_t value, uint32_t from, uint32_t to);

  const PlacementCosts& costs_;
  const AtomValues& values_of_;
  std::vector<uint32_t> target_of_;
  std::vector<uint32_t> readers_;  // number of readers, by [value][space]; the host reads outputs
  CostSum cost_;
};

}  // namespace intarsia
