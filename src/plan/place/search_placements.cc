// Branch and bound: atom by atom, while what is decided and the least that the others can take cost less than
// the best so far.
#include "plan/place/search_placements.h"

namespace intarsia {
namespace {

constexpr int64_t most_placements = 1 << 20, most_partitions = 1 << 18;
constexpr size_t most_spaces = 64;  // number of bits in a mask

bool is_small(const PlacementCosts& costs) {
  int64_t placements = 1;
  for (const std::vector<int64_t>& times : costs.times) {
    placements *= std::ranges::count_if(times, [](int64_t time) { return time < too_long; });
    if (placements > most_placements) return false;
  }
  return placements > 0 && costs.links.size() <= most_spaces;
}

class PlacementSearch {
 public:
  PlacementSearch(const RefinementTools& tools, std::vector<uint32_t> placed)
      : tools_(tools),
        costs_(tools.costs),
        best_(std::move(placed)),
        best_total_(cost_of(costs_, best_).total()),
        target_of_(best_.size(), 0),
        least_(best_.size() + 1, 0),
        present_(costs_.values.size(), 0),
        used_(costs_.targets.size(), 0) {
    for (size_t atom = best_.size(); atom-- > 0;)
      least_[atom] = least_[atom + 1] + std::ranges::min(costs_.times[atom]);
    for (size_t v = 0; v < costs_.values.size(); ++v) {
      if (costs_.values[v].producer == no_atom) present_[v] = bit(host_memory);
    }
  }

  std::vector<uint32_t> run() {
    place(0, 0);
    return std::move(best_);
  }

 private:
  static uint64_t bit(uint32_t space) { return uint64_t{1} << space; }

  void place(uint32_t atom, int64_t so_far) {
    if (so_far + least_[atom] >= best_total_ || partitions_ == most_partitions) return;
    if (atom == best_.size()) return take_if_better(so_far);
    for (uint32_t target = 0; target < costs_.targets.size(); ++target) {
      if (costs_.times[atom][target] >= too_long) continue;
      target_of_[atom] = target;
      const size_t undo = arrivals_.size();
      int64_t cost = so_far + costs_.times[atom][target];
      if (used_[target]++ == 0) cost += costs_.targets[target].launch;  // launch of one region at least
      if (add_copies(atom, costs_.targets[target].space, cost)) place(atom + 1, cost);
      --used_[target];
      for (; arrivals_.size() > undo; arrivals_.pop_back())
        present_[arrivals_.back().value] = arrivals_.back().before;
    }
  }

  /// Adds copies of what the atom reads, and of what it makes and the host needs. Returns false if a link is
  /// missing.
  bool add_copies(uint32_t atom, uint32_t space, int64_t& cost) {
    for (uint32_t value : tools_.values_of.makes[atom]) {
      arrive(value, bit(space));
      if (costs_.values[value].is_output && !copy(value, space, host_memory, cost)) return false;
    }
    return std::ranges::all_of(tools_.values_of.reads[atom], [&](uint32_t value) {
      return copy(value, home_of(costs_, costs_.values[value], target_of_), space, cost);
    });
  }

  bool copy(uint32_t value, uint32_t from, uint32_t to, int64_t& cost) {
    if ((present_[value] & bit(to)) != 0) return true;
    const int64_t time = copy_time(costs_, costs_.values[value].bytes, from, to);
    if (time == never) return false;
    cost += time;
    arrive(value, present_[value] | bit(to));
    return true;
  }

  void arrive(uint32_t value, uint64_t spaces) {
    arrivals_.push_back({value, present_[value]});
    present_[value] = spaces;
  }

  void take_if_better(int64_t so_far) {
    ++partitions_;
    int64_t total = so_far + launch_time(costs_, tools_.next, target_of_);
    for (size_t t = 0; t < used_.size(); ++t) total -= used_[t] > 0 ? costs_.targets[t].launch : 0;
    if (total >= best_total_) return;
    best_ = target_of_;
    best_total_ = total;
  }

  struct Arrival {
    uint32_t value;
    uint64_t before;  // previous entry of present_
  };

  const RefinementTools& tools_;
  const PlacementCosts& costs_;
  std::vector<uint32_t> best_;
  int64_t best_total_;
  std::vector<uint32_t> target_of_;
  std::vector<int64_t> least_;     // least time of the atoms from each one on
  std::vector<uint64_t> present_;  // spaces that have it, by value
  std::vector<uint32_t> used_;     // number of atoms on it, by target
  std::vector<Arrival> arrivals_;  // changes to undo, from the last one on
  int64_t partitions_ = 0;
};

}  // namespace

std::vector<uint32_t> search_placements(const RefinementTools& tools, std::vector<uint32_t> placed) {
  return is_small(tools.costs) ? PlacementSearch(tools, std::move(placed)).run() : placed;
}

}  // namespace intarsia
