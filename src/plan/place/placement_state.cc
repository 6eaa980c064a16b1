#include "plan/place/placement_state.h"

namespace intarsia {

PlacementState::PlacementState(const PlacementCosts& costs, const AtomValues& values_of,
                               std::vector<uint32_t> target_of)
    : costs_(costs),
      values_of_(values_of),
      target_of_(std::move(target_of)),
      readers_(costs.values.size() * costs.links.size(), 0) {
  for (size_t atom = 0; atom < target_of_.size(); ++atom) cost_.add(costs.times[atom][target_of_[atom]]);
  for (uint32_t v = 0; v < costs.values.size(); ++v) {
    for (uint32_t reader : costs.values[v].readers) start_reading(v, costs.targets[target_of_[reader]].space);
    if (costs.values[v].is_output) start_reading(v, host_memory);
  }
}

void PlacementState::move(uint32_t atom, uint32_t target) {
  const uint32_t before = target_of_[atom];
  cost_.subtract(costs_.times[atom][before]);
  cost_.add(costs_.times[atom][target]);
  target_of_[atom] = target;
  const uint32_t from = costs_.targets[before].space, to = costs_.targets[target].space;
  if (from == to) return;
  for (uint32_t value : values_of_.makes[atom]) move_home(value, from, to);
  for (uint32_t value : values_of_.reads[atom]) {
    stop_reading(value, from);
    start_reading(value, to);
  }
}

void PlacementState::start_reading(uint32_t value, uint32_t space) {
  if (readers(value, space)++ == 0)
    cost_.add(copy(value, home_of(costs_, costs_.values[value], target_of_), space));
}

void PlacementState::stop_reading(uint32_t value, uint32_t space) {
  if (--readers(value, space) == 0)
    cost_.subtract(copy(value, home_of(costs_, costs_.values[value], target_of_), space));
}

void PlacementState::move_home(uint32_t value, uint32_t from, uint32_t to) {
  for (uint32_t space = 0; space < costs_.links.size(); ++space) {
    if (readers(value, space) == 0) continue;
    cost_.subtract(copy(value, from, space));
    cost_.add(copy(value, to, space));
  }
}

}  // namespace intarsia
