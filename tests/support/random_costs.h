// Random problems of placing by cost. Everything follows from the seed.
#pragma once

#include "plan/place/placement_costs.h"
#include "tests/support/random_graph.h"

namespace intarsia {

struct RandomCostsOptions {
  uint32_t max_atoms = 14;
  uint32_t targets = 2;
  int64_t max_launch = 0;
};

/// Adds targets in spaces of their own or shared, with or without the host's, and links of different speeds
/// in both directions.
inline void add_random_devices(std::mt19937& random, const RandomCostsOptions& options,
                               PlacementCosts& costs) {
  const uint32_t spaces = 1 + options.targets;
  for (uint32_t t = 0; t < options.targets; ++t) {
    const uint32_t own = t + (random() % 8 == 0);
    const int64_t launch = options.max_launch == 0 ? 0 : random() % static_cast<uint32_t>(options.max_launch);
    costs.targets.push_back({random() % 4 == 0 ? static_cast<uint32_t>(random() % spaces) : own, launch});
  }
  costs.links.assign(spaces, std::vector<Link>(spaces));
  for (std::vector<Link>& from : costs.links) {
    for (Link& link : from)
      link = {static_cast<int64_t>(random() % 20), static_cast<double>(random() % 100) / 50};
  }
}

/// Makes atoms that read from up to three earlier ones and make up to two values with any number of readers;
/// some can run on only one target.
inline PlacementCosts make_random_costs(std::mt19937& random, const RandomCostsOptions& options) {
  PlacementCosts costs;
  add_random_devices(random, options, costs);
  const auto add_value = [&](uint32_t producer) {
    costs.values.push_back({producer, {}, static_cast<int64_t>(random() % 40), random() % 8 == 0});
  };
  for (uint32_t i = 0, inputs = 1 + random() % 3; i < inputs; ++i) add_value(no_atom);
  const uint32_t reach = random() % 2 ? 3 : 1000;  // a small number makes long chains
  const uint32_t most = random() % 4 ? 50 : 3;     // with few different times, many costs are equal
  for (uint32_t atom = 0, count = 1 + random() % options.max_atoms; atom < count; ++atom) {
    const uint32_t only = random() % options.targets;
    const bool is_foreign = random() % 6 == 0;
    std::vector<int64_t>& times = costs.times.emplace_back();
    for (uint32_t t = 0; t < options.targets; ++t)
      times.push_back(is_foreign && t != only ? never : 1 + random() % most);
    for (uint32_t reads = random() % 4; reads > 0; --reads) {
      const uint32_t values = static_cast<uint32_t>(costs.values.size());
      std::vector<uint32_t>& readers = costs.values[values - 1 - random() % std::min(values, reach)].readers;
      if (readers.empty() || readers.back() != atom) readers.push_back(atom);
    }
    for (uint32_t makes = 1 + (random() % 4 == 0); makes > 0; --makes) add_value(atom);
  }
  return costs;
}

/// Returns the problem with its atoms and values in another order.
inline PlacementCosts shuffle_atoms(const PlacementCosts& costs, std::mt19937& random) {
  std::vector<uint32_t> number(costs.times.size());
  for (uint32_t i = 0; i < number.size(); ++i) number[i] = i;
  std::ranges::shuffle(number, random);
  PlacementCosts shuffled = costs;
  for (uint32_t i = 0; i < number.size(); ++i) shuffled.times[number[i]] = costs.times[i];
  for (CostedValue& value : shuffled.values) {
    if (value.producer != no_atom) value.producer = number[value.producer];
    for (uint32_t& reader : value.readers) reader = number[reader];
    std::ranges::shuffle(value.readers, random);
  }
  std::ranges::shuffle(shuffled.values, random);
  return shuffled;
}

}  // namespace intarsia
