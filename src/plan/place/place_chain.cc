#include "plan/place/place_chain.h"

namespace intarsia {
namespace {

/// Returns the sum; `never` if it has `never` in it.
bool is_chain(const PlacementCosts& costs) {
  std::vector<bool> is_linked(costs.times.size(), false);
  for (const CostedValue& value : costs.values) {
    if (value.readers.size() > 1) return false;
    if (value.producer == no_atom || value.readers.empty()) continue;
    if (value.readers[0] != value.producer + 1) return false;
    is_linked[value.producer] = true;
  }
  return std::ranges::count(is_linked, false) == 1;  // the last atom
}

class ChainPlacer {
 public:
  explicit ChainPlacer(const PlacementCosts& costs)
      : costs_(costs), values_of_(find_atom_values(costs)), from_(costs.times.size()) {}

  std::optional<std::vector<uint32_t>> run() {
    const uint32_t count = static_cast<uint32_t>(costs_.times.size());
    std::vector<int64_t> paths;
    for (uint32_t t = 0; t < costs_.targets.size(); ++t)
      paths.push_back(add_times(costs_.targets[t].launch, own_cost(0, t)));
    for (uint32_t atom = 1; atom < count; ++atom) paths = extend(paths, atom);
    for (uint32_t t = 0; t < paths.size(); ++t) paths[t] = add_times(paths[t], outputs_cost(count - 1, t));
    const auto best = std::ranges::min_element(paths);
    if (*best == never) return std::nullopt;
    std::vector<uint32_t> target_of(count, static_cast<uint32_t>(best - paths.begin()));
    for (uint32_t atom = count - 1; atom > 0; --atom) target_of[atom - 1] = from_[atom][target_of[atom]];
    return target_of;
  }

 private:
  /// Extends the paths to every target that `atom` can be on.
  std::vector<int64_t> extend(const std::vector<int64_t>& paths, uint32_t atom) {
    std::vector<int64_t> longer(paths.size(), never);
    from_[atom].assign(paths.size(), 0);
    for (uint32_t to = 0; to < paths.size(); ++to) {
      for (uint32_t from = 0; from < paths.size(); ++from) {
        const int64_t path = add_times(paths[from], step_cost(atom - 1, from, to));
        if (path >= longer[to]) continue;
        longer[to] = path;
        from_[atom][to] = from;
      }
      longer[to] = add_times(longer[to], own_cost(atom, to));
    }
    return longer;
  }

  /// Returns the cost of the atom, and of copies of the graph's inputs that it reads.
  int64_t own_cost(uint32_t atom, uint32_t target) const {
    int64_t cost = costs_.times[atom][target] < too_long ? costs_.times[atom][target] : never;
    for (uint32_t v : values_of_.reads[atom]) {
      const CostedValue& value = costs_.values[v];
      if (value.producer == no_atom)
        cost = add_times(cost, copy_time(costs_, value.bytes, host_memory, costs_.targets[target].space));
    }
    return cost;
  }

  /// Returns the cost of the step from `atom` to the next: a launch, and copies of what `atom` makes.
  int64_t step_cost(uint32_t atom, uint32_t from, uint32_t to) const {
    const uint32_t home = costs_.targets[from].space, space = costs_.targets[to].space;
    int64_t cost = add_times(from == to ? 0 : costs_.targets[to].launch, outputs_cost(atom, from));
    for (uint32_t v : values_of_.makes[atom]) {
      const CostedValue& value = costs_.values[v];
      const bool is_there = value.is_output && space == host_memory;
      if (!value.readers.empty() && !is_there)
        cost = add_times(cost, copy_time(costs_, value.bytes, home, space));
    }
    return cost;
  }

  int64_t outputs_cost(uint32_t atom, uint32_t target) const {
    int64_t cost = 0;
    for (uint32_t v : values_of_.makes[atom]) {
      const CostedValue& value = costs_.values[v];
      if (value.is_output)
        cost = add_times(cost, copy_time(costs_, value.bytes, costs_.targets[target].space, host_memory));
    }
    return cost;
  }

  const PlacementCosts& costs_;
  const AtomValues values_of_;
  std::vector<std::vector<uint32_t>> from_;  // target before it on the shortest path, by [atom][target]
};

}  // namespace

std::optional<std::vector<uint32_t>> place_chain(const PlacementCosts& costs) {
  return is_chain(costs) ? ChainPlacer(costs).run() : std::nullopt;
}

}  // namespace intarsia
