#include "plan/place/schedule_placement.h"

#include <map>
#include <random>
#include <set>

#include "plan/place/canonical_order.h"

namespace intarsia {
namespace {

using Targets = std::vector<uint32_t>;

/// Adds times; `never` if one of them is so long that it counts as that.
int64_t sum_of_times(int64_t a, int64_t b) { return a >= too_long || b >= too_long ? never : a + b; }

/// Returns the mean time of a copy of this size over pairs of targets.
double mean_copy(const PlacementCosts& costs, int64_t bytes) {
  double sum = 0, pairs = 0;
  for (const CostedTarget& from : costs.targets) {
    for (const CostedTarget& to : costs.targets) {
      const int64_t time = copy_time(costs, bytes, from.space, to.space);
      if (time >= too_long) continue;
      sum += static_cast<double>(time);
      ++pairs;
    }
  }
  return pairs == 0 ? 0 : sum / pairs;
}

double mean_time(const std::vector<int64_t>& times) {
  double sum = 0, targets = 0;
  for (int64_t time : times) {
    if (time >= too_long) continue;
    sum += static_cast<double>(time);
    ++targets;
  }
  return targets == 0 ? 0 : sum / targets;
}

/// Orders atoms by the time that depends on them, on the longest way to the end; an order of dependencies.
std::vector<uint32_t> order_by_rank(const PlacementCosts& costs, const AtomValues& of_atom) {
  std::vector<uint32_t> order = canonical_order(costs);
  std::vector<double> rank(order.size(), 0);
  for (size_t i = order.size(); i-- > 0;) {
    const uint32_t atom = order[i];
    double after = 0;
    for (uint32_t v : of_atom.makes[atom]) {
      const double copy = mean_copy(costs, costs.values[v].bytes);
      for (uint32_t reader : costs.values[v].readers) after = std::max(after, copy + rank[reader]);
    }
    rank[atom] = mean_time(costs.times[atom]) + after;
  }
  std::ranges::stable_sort(order, std::greater(), [&](uint32_t atom) { return rank[atom]; });
  return order;
}

/// Copy of a value that an atom waits for.
struct Arrival {
  uint32_t value = 0;
  uint32_t link = host_memory;
  int64_t time = never;
};

/// End of an atom on a target.
struct Finish {
  uint32_t target = no_target;
  int64_t time = never;
  std::vector<Arrival> arrivals = {};  // arrivals of values that are copied for it
};

/// Times of the schedule that is being made: when atoms end, and when executors and links are free.
class Timeline {
 public:
  Timeline(const PlacementCosts& costs, const Executors& executors) : costs_(costs), executors_(executors) {}

  /// Begins a schedule without any atom; `target_of` are targets of those that come later.
  void begin(Targets target_of) {
    target_ = std::move(target_of);
    finish_.assign(target_.size(), 0);
    free_.assign(*std::ranges::max_element(executors_.of_target) + 1, 0);
    link_free_.assign(*std::ranges::max_element(executors_.link_of_space) + 1, 0);
    last_target_.assign(free_.size(), no_target);
    last_output_ = 0;
    there_.assign(costs_.values.size() * costs_.links.size(), never);
  }

  /// Returns when the atom would end if it had its turn next; `reads` are the values that it reads, in the
  /// order of their copies.
  Finish try_on(uint32_t atom, const std::vector<uint32_t>& reads, uint32_t target) {
    const uint32_t executor = executors_.of_target[target], space = costs_.targets[target].space;
    Finish finish{target};
    int64_t start = free_[executor];
    bool is_launched = last_target_[executor] != target || reads.empty();
    std::vector<std::pair<uint32_t, int64_t>> free;  // links that copies for the atom have taken
    for (uint32_t v : reads) {
      const CostedValue& value = costs_.values[v];
      is_launched |= value.producer == no_atom || target_[value.producer] != target;
      int64_t arrival = there(v, space);
      if (arrival == never) {
        const uint32_t link = link_between(home_of(costs_, value, target_), space);
        int64_t link_free = link == host_memory ? 0 : link_free_[link];
        for (const auto& [taken, until] : free)
          if (taken == link) link_free = std::max(link_free, until);
        arrival = end_of_copy(value, space, link_free);
        if (link != host_memory) free.emplace_back(link, arrival);
        finish.arrivals.push_back({v, link, arrival});
      }
      start = std::max(start, arrival);
    }
    const int64_t launch = is_launched ? costs_.targets[target].launch : 0;
    finish.time = sum_of_times(sum_of_times(start, launch), costs_.times[atom][target]);
    return finish;
  }

  /// Gives the atom its turn.
  void take(uint32_t atom, const Finish& finish) {
    const uint32_t executor = executors_.of_target[finish.target];
    target_[atom] = finish.target;
    finish_[atom] = free_[executor] = finish.time;
    last_target_[executor] = finish.target;
    for (const Arrival& arrival : finish.arrivals) {
      there(arrival.value, costs_.targets[finish.target].space) = arrival.time;
      if (arrival.link != host_memory) link_free_[arrival.link] = arrival.time;
    }
  }

  /// Copies an output of the function to the host's memory unless it is there.
  void copy_output(uint32_t v) {
    if (there(v, host_memory) != never) return;
    const CostedValue& value = costs_.values[v];
    const uint32_t link = link_between(home_of(costs_, value, target_), host_memory);
    const int64_t end = end_of_copy(value, host_memory, link == host_memory ? 0 : link_free_[link]);
    if (link != host_memory) link_free_[link] = end;
    there(v, host_memory) = end;
    last_output_ = std::max(last_output_, end);
  }

  /// Returns when all atoms and copies have ended.
  int64_t end() const {
    int64_t last = last_output_;
    for (int64_t finish : finish_) last = std::max(last, finish);
    return last >= too_long ? never : last;
  }

  const Targets& targets() const { return target_; }
  int64_t start(uint32_t atom) const { return finish_[atom] - costs_.times[atom][target_[atom]]; }

 private:
  int64_t made_at(const CostedValue& value) const {
    return value.producer == no_atom ? 0 : finish_[value.producer];
  }

  int64_t& there(uint32_t value, uint32_t space) { return there_[value * costs_.links.size() + space]; }

  /// Returns the link on which copies have their turns: that of the device that they go to or, for copies to
  /// the host's memory, come from.
  uint32_t link_between(uint32_t from, uint32_t to) const {
    if (from == to) return host_memory;
    return executors_.link_of_space[executors_.link_of_space[to] == host_memory ? from : to];
  }

  /// Returns when a copy ends that starts once the value is made and its link is free, from `link_free` on.
  int64_t end_of_copy(const CostedValue& value, uint32_t space, int64_t link_free) const {
    const int64_t copy = copy_time(costs_, value.bytes, home_of(costs_, value, target_), space);
    return sum_of_times(copy == 0 ? made_at(value) : std::max(made_at(value), link_free), copy);
  }

  const PlacementCosts& costs_;
  const Executors& executors_;
  Targets target_;                  // indexed by atom
  std::vector<int64_t> finish_;     // finish time, by atom
  std::vector<int64_t> free_;       // time from which it is free, by executor
  std::vector<int64_t> link_free_;  // time from which it is free, by link
  std::vector<int64_t> there_;      // arrival, by value and space; `never` if not copied there
  Targets last_target_;             // indexed by executor
  int64_t last_output_ = 0;         // time when the last one so far is in the host's memory
};

class Scheduler {
 public:
  Scheduler(const PlacementCosts& costs, const Executors& executors)
      : costs_(costs),
        of_atom_(find_atom_values(costs)),
        position_(costs.times.size()),
        timeline_(costs, executors) {
    set_order(order_by_rank(costs, of_atom_));
  }

  /// Places each atom where it ends soonest.
  Targets place_soonest() {
    timeline_.begin(Targets(costs_.times.size(), no_target));
    for (uint32_t atom : order_) {
      const std::vector<uint32_t> reads = reads_in_order(atom);
      Finish best;
      for (uint32_t target = 0; target < costs_.targets.size(); ++target) {
        Finish finish = timeline_.try_on(atom, reads, target);
        if (best.target == no_target || finish.time < best.time) best = std::move(finish);
      }
      timeline_.take(atom, best);
    }
    return timeline_.targets();
  }

  int64_t length(const Targets& target_of) {
    timeline_.begin(target_of);
    for (uint32_t atom : order_)
      timeline_.take(atom, timeline_.try_on(atom, reads_in_order(atom), target_of[atom]));
    for (uint32_t atom : order_)
      for (uint32_t v : of_atom_.makes[atom])
        if (costs_.values[v].is_output) timeline_.copy_output(v);
    return timeline_.end();
  }

  /// Returns the order in which atoms have their turns on executors and links.
  const std::vector<uint32_t>& order() const { return order_; }
  void set_order(std::vector<uint32_t> order) {
    order_ = std::move(order);
    for (uint32_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  }

  /// Returns the order in which atoms started in the last schedule.
  std::vector<uint32_t> order_by_start() const {
    std::vector<uint32_t> order = order_;
    std::ranges::stable_sort(order, {}, [&](uint32_t atom) { return timeline_.start(atom); });
    return order;
  }

  /// Returns the order that takes, among atoms whose predecessors had their turns, the one with the least
  /// `priority`.
  std::vector<uint32_t> order_by(const std::vector<double>& priority) const {
    std::vector<size_t> missing(priority.size(), 0);
    for (uint32_t atom : order_)
      for (uint32_t v : of_atom_.reads[atom]) missing[atom] += costs_.values[v].producer != no_atom;
    std::set<std::pair<double, uint32_t>> ready;  // sorted by priority and position
    const auto add = [&](uint32_t atom) {
      if (missing[atom] == 0) ready.emplace(priority[atom], position_[atom]);
    };
    for (uint32_t atom : order_) add(atom);
    std::vector<uint32_t> order;
    while (!ready.empty()) {
      const uint32_t atom = order_[ready.extract(ready.begin()).value().second];
      order.push_back(atom);
      for (uint32_t v : of_atom_.makes[atom])
        for (uint32_t reader : costs_.values[v].readers)
          if (--missing[reader] == 0) add(reader);
    }
    return order;
  }

  uint32_t position(uint32_t atom) const { return position_[atom]; }

 private:
  /// Returns the values that the atom reads, in the order in which their makers have their turns.
  std::vector<uint32_t> reads_in_order(uint32_t atom) const {
    std::vector<uint32_t> reads = of_atom_.reads[atom];
    std::ranges::stable_sort(reads, {}, [&](uint32_t v) {
      const uint32_t producer = costs_.values[v].producer;
      return producer == no_atom ? 0 : 1 + position_[producer];
    });
    return reads;
  }

  const PlacementCosts& costs_;
  const AtomValues of_atom_;
  std::vector<uint32_t> order_;     // order of scheduling
  std::vector<uint32_t> position_;  // position of each atom in the order
  Timeline timeline_;
};

using Atoms = std::vector<uint32_t>;

/// Returns groups of atoms on one target that values connect.
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

/// Placement, order of its atoms, and time until all are done.
struct Schedule {
  Targets target;
  std::vector<uint32_t> order;
  int64_t length = never;
};

/// Search for shorter schedules.
class Search {
 public:
  Search(const PlacementCosts& costs, Scheduler& scheduler) : costs_(costs), scheduler_(scheduler) {}

  /// Returns the best schedule from there: atoms move, alone or all that are connected, while that makes it
  /// shorter.
  Schedule descend(Schedule schedule) {
    constexpr int rounds = 4;
    take(schedule);
    for (int round = 0; round < rounds && schedule.length != never && effort_ > 0; ++round) {
      const int64_t before = schedule.length;
      for (uint32_t atom : schedule.order) try_all(schedule, Atoms{atom});
      for (const Atoms& atoms : connected_atoms(costs_, schedule.target)) try_all(schedule, atoms);
      try_order_by_start(schedule);
      if (schedule.length == before) break;
    }
    return schedule;
  }

  /// Returns the best schedule near `best`: descends from where a few atoms went elsewhere, and to other
  /// places in the order.
  Schedule search_near(Schedule best) {
    constexpr int tries = 100;
    std::mt19937 random(1);
    for (int i = 0; i < tries && best.length != never && effort_ > 0; ++i) {
      Schedule other = descend(shake(best, random));
      if (other.length < best.length) best = std::move(other);
    }
    return best;
  }

 private:
  /// Limit of schedules, in atoms and values: about half a second.
  static constexpr size_t most_effort = 10'000'000;

  void take(Schedule& schedule) {
    scheduler_.set_order(schedule.order);
    schedule.length = length_of(schedule.target);
  }

  int64_t length_of(const Targets& target) {
    effort_ -= std::min(effort_, costs_.times.size() + costs_.values.size());
    return scheduler_.length(target);
  }

  void try_all(Schedule& schedule, const Atoms& atoms) {
    for (uint32_t target = 0; target < costs_.targets.size() && effort_ > 0; ++target) {
      Targets moved = schedule.target;
      for (uint32_t atom : atoms) moved[atom] = target;
      const int64_t length = length_of(moved);
      if (length >= schedule.length) continue;
      schedule.target = std::move(moved);
      schedule.length = length;
    }
  }

  void try_order_by_start(Schedule& schedule) {
    static_cast<void>(length_of(schedule.target));
    Schedule other{schedule.target, scheduler_.order_by_start()};
    take(other);
    if (other.length < schedule.length)
      schedule = std::move(other);
    else
      scheduler_.set_order(schedule.order);
  }

  Schedule shake(const Schedule& schedule, std::mt19937& random) {
    constexpr uint32_t most_moves = 3, reach = 4;
    const auto atoms = static_cast<uint32_t>(schedule.order.size());
    Schedule other = schedule;
    scheduler_.set_order(schedule.order);
    std::vector<double> priority(atoms);
    for (uint32_t atom = 0; atom < atoms; ++atom) priority[atom] = scheduler_.position(atom);
    for (uint32_t move = 0; move <= random() % most_moves; ++move) {
      other.target[schedule.order[random() % atoms]] =
          static_cast<uint32_t>(random() % costs_.targets.size());
      priority[schedule.order[random() % atoms]] += static_cast<double>(random() % (2 * reach)) - reach;
    }
    other.order = scheduler_.order_by(priority);
    return other;
  }

  const PlacementCosts& costs_;
  Scheduler& scheduler_;
  size_t effort_ = most_effort;  // effort that is left
};

}  // namespace

int64_t schedule_length(const PlacementCosts& costs, const Executors& executors,
                        const std::vector<uint32_t>& target_of, const std::vector<uint32_t>& rank) {
  Scheduler scheduler(costs, executors);
  if (!rank.empty()) scheduler.set_order(scheduler.order_by({rank.begin(), rank.end()}));
  return scheduler.length(target_of);
}

ScheduledPlacement schedule_placement(const PlacementCosts& costs, const Executors& executors) {
  Scheduler scheduler(costs, executors);
  std::vector<Targets> starts{scheduler.place_soonest()};
  for (uint32_t target = 0; target < costs.targets.size(); ++target)
    starts.emplace_back(costs.times.size(), target);
  const std::vector<uint32_t> order = scheduler.order();
  Search search(costs, scheduler);
  Schedule best{starts[0], order};
  for (Targets& start : starts) {
    Schedule other = search.descend({std::move(start), order});
    if (other.length < best.length) best = std::move(other);
  }
  best = search.search_near(std::move(best));
  ScheduledPlacement placed{std::move(best.target), best.length, std::vector<uint32_t>(best.order.size())};
  for (uint32_t i = 0; i < best.order.size(); ++i) placed.rank[best.order[i]] = i;
  return placed;
}

}  // namespace intarsia
