#include "plan/schedule_placement.h"

#include <map>

#include "plan/canonical_order.h"

namespace intarsia {
namespace {

using Targets = std::vector<uint32_t>;

constexpr uint32_t no_target = 0xffffffff;

int64_t add_times(int64_t a, int64_t b) { return a >= too_long || b >= too_long ? never : a + b; }

class Scheduler {
 public:
  Scheduler(const PlacementCosts& costs, const std::vector<uint32_t>& executor_of)
      : costs_(costs), executor_of_(executor_of), of_atom_(find_atom_values(costs)) {
    order_atoms();
  }

  /// Where each atom ends soonest.
  Targets place_soonest() {
    begin(Targets(costs_.times.size(), no_target));
    for (uint32_t atom : order_) {
      Finish best;
      for (uint32_t target = 0; target < costs_.targets.size(); ++target) {
        const Finish finish = try_on(atom, target);
        if (best.target == no_target || finish.time < best.time) best = finish;
      }
      take(atom, best);
    }
    return target_;
  }

  int64_t length(const Targets& target_of) {
    begin(target_of);
    for (uint32_t atom : order_) take(atom, try_on(atom, target_of[atom]));
    int64_t last = 0;
    for (const CostedValue& value : costs_.values) {
      if (value.is_output) last = std::max(last, arrival(value, host_memory));
    }
    for (int64_t finish : finish_) last = std::max(last, finish);
    return last >= too_long ? never : last;
  }

  const std::vector<uint32_t>& order() const { return order_; }

 private:
  struct Finish {
    uint32_t target = no_target;
    int64_t time = never;
  };

  /// The mean over pairs of targets of a copy of this size.
  double mean_copy(int64_t bytes) const {
    double sum = 0, pairs = 0;
    for (const CostedTarget& from : costs_.targets) {
      for (const CostedTarget& to : costs_.targets) {
        const int64_t time = copy_time(costs_, bytes, from.space, to.space);
        if (time >= too_long) continue;
        sum += static_cast<double>(time);
        ++pairs;
      }
    }
    return pairs == 0 ? 0 : sum / pairs;
  }

  double mean_time(uint32_t atom) const {
    double sum = 0, targets = 0;
    for (int64_t time : costs_.times[atom]) {
      if (time >= too_long) continue;
      sum += static_cast<double>(time);
      ++targets;
    }
    return targets == 0 ? 0 : sum / targets;
  }

  /// By the time that depends on an atom, on the longest way to the end; an order of dependencies.
  void order_atoms() {
    order_ = canonical_order(costs_);
    std::vector<double> rank(order_.size(), 0);
    for (size_t i = order_.size(); i-- > 0;) {
      const uint32_t atom = order_[i];
      double after = 0;
      for (uint32_t v : of_atom_.makes[atom]) {
        const double copy = mean_copy(costs_.values[v].bytes);
        for (uint32_t reader : costs_.values[v].readers) after = std::max(after, copy + rank[reader]);
      }
      rank[atom] = mean_time(atom) + after;
    }
    std::ranges::stable_sort(order_, std::greater(), [&](uint32_t atom) { return rank[atom]; });
  }

  void begin(Targets target_of) {
    target_ = std::move(target_of);
    finish_.assign(target_.size(), 0);
    free_.assign(*std::ranges::max_element(executor_of_) + 1, 0);
    last_target_.assign(free_.size(), no_target);
  }

  int64_t arrival(const CostedValue& value, uint32_t space) const {
    const int64_t made = value.producer == no_atom ? 0 : finish_[value.producer];
    return add_times(made, copy_time(costs_, value.bytes, home_of(costs_, value, target_), space));
  }

  Finish try_on(uint32_t atom, uint32_t target) const {
    const uint32_t executor = executor_of_[target];
    int64_t start = free_[executor];
    bool is_launched = last_target_[executor] != target || of_atom_.reads[atom].empty();
    for (uint32_t v : of_atom_.reads[atom]) {
      const CostedValue& value = costs_.values[v];
      start = std::max(start, arrival(value, costs_.targets[target].space));
      is_launched |= value.producer == no_atom || target_[value.producer] != target;
    }
    const int64_t launch = is_launched ? costs_.targets[target].launch : 0;
    return {target, add_times(add_times(start, launch), costs_.times[atom][target])};
  }

  void take(uint32_t atom, const Finish& finish) {
    const uint32_t executor = executor_of_[finish.target];
    target_[atom] = finish.target;
    finish_[atom] = free_[executor] = finish.time;
    last_target_[executor] = finish.target;
  }

  const PlacementCosts& costs_;
  const std::vector<uint32_t>& executor_of_;
  const AtomValues of_atom_;
  std::vector<uint32_t> order_;  // of scheduling
  // Of the schedule that is being made:
  Targets target_;               // by atom
  std::vector<int64_t> finish_;  // by atom
  std::vector<int64_t> free_;    // by executor
  Targets last_target_;          // by executor
};

using Atoms = std::vector<uint32_t>;

/// Atoms on one target that values connect.
std::vector<Atoms> connected_atoms(const PlacementCosts& costs, const Targets& target_of) {
  Neighbors near(target_of.size());
  for (const CostedValue& value : costs.values) {
    for (uint32_t reader : value.readers) {
      if (value.producer == no_atom || target_of[reader] != target_of[value.producer]) continue;
      near[value.producer].push_back(reader);
      near[reader].push_back(value.producer);
    }
  }
  // Edges in both directions make connected atoms one component.
  std::map<uint32_t, Atoms> by_first;
  const std::vector<uint32_t> first = strong_components(near);
  for (uint32_t atom = 0; atom < first.size(); ++atom) by_first[first[atom]].push_back(atom);
  std::vector<Atoms> components;
  for (auto& [_, atoms] : by_first) components.push_back(std::move(atoms));
  return components;
}

/// Moves atoms, alone or all that are connected, as long as that makes the schedule shorter.
class Descent {
 public:
  Descent(const PlacementCosts& costs, Scheduler& scheduler, ScheduledPlacement& placed)
      : costs_(costs), scheduler_(scheduler), placed_(placed) {}

  void run() {
    constexpr size_t most_steps = 50'000'000;
    constexpr int rounds = 4;
    const size_t schedule_steps = costs_.times.size() + costs_.values.size();
    if (costs_.times.size() * costs_.targets.size() * schedule_steps > most_steps) return;
    for (int round = 0; round < rounds; ++round) {
      const int64_t before = placed_.length;
      for (uint32_t atom : scheduler_.order()) try_all(Atoms{atom});
      for (const Atoms& atoms : connected_atoms(costs_, placed_.target)) try_all(atoms);
      if (placed_.length == before) return;
    }
  }

 private:
  void try_all(const Atoms& atoms) {
    for (uint32_t target = 0; target < costs_.targets.size(); ++target) {
      Targets moved = placed_.target;
      for (uint32_t atom : atoms) moved[atom] = target;
      const int64_t length = scheduler_.length(moved);
      if (length < placed_.length) placed_ = {std::move(moved), length};
    }
  }

  const PlacementCosts& costs_;
  Scheduler& scheduler_;
  ScheduledPlacement& placed_;
};

}  // namespace

int64_t schedule_length(const PlacementCosts& costs, const std::vector<uint32_t>& executor_of,
                        const std::vector<uint32_t>& target_of) {
  return Scheduler(costs, executor_of).length(target_of);
}

ScheduledPlacement schedule_placement(const PlacementCosts& costs, const std::vector<uint32_t>& executor_of) {
  Scheduler scheduler(costs, executor_of);
  std::vector<Targets> starts{scheduler.place_soonest()};
  for (uint32_t target = 0; target < costs.targets.size(); ++target)
    starts.emplace_back(costs.times.size(), target);
  ScheduledPlacement best{starts[0]};
  for (Targets& start : starts) {
    ScheduledPlacement placed{std::move(start)};
    placed.length = scheduler.length(placed.target);
    if (placed.length != never) Descent(costs, scheduler, placed).run();
    if (placed.length < best.length) best = std::move(placed);
  }
  return best;
}

}  // namespace intarsia
