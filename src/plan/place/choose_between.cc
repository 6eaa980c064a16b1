// Cuts split atoms into those on their first and on their second target. A value with several readers gets a
// vertex for each place where they can be: it is on the side of any reader that goes there, so that all pay
// once together. Places are memory spaces for copies, and targets for launches.
//
// Y. Boykov, O. Veksler and R. Zabih, "Fast approximate energy minimization via graph cuts", 2001, for the
// moves among more than two targets.
#include "plan/place/choose_between.h"

#include "plan/place/minimum_cut.h"

namespace intarsia {
namespace {

/// Places where a value can be needed, and what is paid when it was not made there.
struct Places {
  std::vector<uint32_t> of_target;
  size_t count = 0;
  bool are_spaces = false;        // whether copies are paid
  std::vector<int64_t> crossing;  // indexed by place
};

/// Returns the places of copies and of crossings, or both as one where every target has a space of its own.
std::vector<Places> find_places(const PlacementCosts& costs, const std::vector<int64_t>& crossing) {
  const size_t spaces = costs.links.size(), targets = costs.targets.size();
  Places space{{}, spaces, true, std::vector<int64_t>(spaces, 0)};
  Places target{{}, targets, false, crossing};
  std::vector<uint32_t> residents(spaces, 0);
  for (uint32_t t = 0; t < targets; ++t) {
    space.of_target.push_back(costs.targets[t].space);
    target.of_target.push_back(t);
    ++residents[costs.targets[t].space];
  }
  if (std::ranges::all_of(crossing, [](int64_t cost) { return cost == 0; })) return {space};
  if (std::ranges::any_of(residents, [](uint32_t count) { return count > 1; })) return {space, target};
  for (uint32_t t = 0; t < targets; ++t) space.crossing[space.of_target[t]] = crossing[t];
  return {space};
}

class TwoWayChoice {
 public:
  TwoWayChoice(const PlacementCosts& costs, const std::vector<uint32_t>& first,
               const std::vector<uint32_t>& second)
      : costs_(costs), first_(first), second_(second), vertex_(first.size(), no_vertex) {}

  std::vector<uint32_t> run(const std::vector<int64_t>& crossing) {
    add_atoms();
    for (const Places& places : find_places(costs_, crossing)) {
      for (const CostedValue& value : costs_.values) {
        for (uint32_t place = 0; place < places.count; ++place) add_value(value, places, place);
      }
    }
    const std::vector<bool> is_first = cut_.solve();
    std::vector<uint32_t> chosen = second_;
    for (size_t atom = 0; atom < chosen.size(); ++atom) {
      if (vertex_[atom] != no_vertex && is_first[vertex_[atom]]) chosen[atom] = first_[atom];
    }
    return chosen;
  }

 private:
  static constexpr uint32_t no_vertex = 0xffffffff;
  /// Price when the producer is on its first, and on its second target.
  struct Price {
    int64_t first, second;
  };

  void add_atoms() {
    for (size_t atom = 0; atom < first_.size(); ++atom) {
      if (first_[atom] == second_[atom]) continue;
      vertex_[atom] = cut_.add_vertex();
      cut_.add_cost(vertex_[atom], costs_.times[atom][first_[atom]], costs_.times[atom][second_[atom]]);
    }
  }

  int64_t price(const CostedValue& value, const std::vector<uint32_t>& target_of, const Places& places,
                uint32_t place) const {
    if (value.producer != no_atom && places.of_target[target_of[value.producer]] == place) return 0;
    const int64_t crossing = value.producer == no_atom ? 0 : places.crossing[place];
    if (!places.are_spaces) return crossing;
    const int64_t copy = copy_time(costs_, value.bytes, home_of(costs_, value, target_of), place);
    return copy == never ? never : copy + crossing;
  }

  void add_value(const CostedValue& value, const Places& places, uint32_t place) {
    const Price paid{price(value, first_, places, place), price(value, second_, places, place)};
    if (paid.first == 0 && paid.second == 0) return;
    const uint32_t producer = value.producer == no_atom ? no_vertex : vertex_[value.producer];
    bool always = places.are_spaces && place == host_memory && value.is_output;
    on_first_.clear(), on_second_.clear();
    for (uint32_t reader : value.readers) {
      const bool at_first = places.of_target[first_[reader]] == place;
      const bool at_second = places.of_target[second_[reader]] == place;
      always |= at_first && at_second;
      if (at_first && !at_second) on_first_.push_back(vertex_[reader]);
      if (at_second && !at_first) on_second_.push_back(vertex_[reader]);
    }
    if (always) {
      if (producer != no_vertex) cut_.add_cost(producer, paid.first, paid.second);
      return;
    }
    if (!on_first_.empty()) need_on_first(producer, paid);
    if (!on_second_.empty()) need_on_second(producer, paid);
  }

  /// Adds the price for readers that need the value only when they are on their first target.
  void need_on_first(uint32_t producer, Price paid) {
    uint32_t any = on_first_[0];
    if (on_first_.size() > 1) {
      any = cut_.add_vertex();
      for (uint32_t reader : on_first_) cut_.add_cost_between(reader, any, never);
    }
    if (producer == no_vertex || paid.first >= paid.second) return cut_.add_cost(any, paid.first, 0);
    cut_.add_cost(any, paid.first, 0);
    cut_.add_cost_between(any, producer, paid.second == never ? never : paid.second - paid.first);
  }

  /// Adds the price for readers that need the value only when they are on their second target.
  void need_on_second(uint32_t producer, Price paid) {
    uint32_t any = on_second_[0];
    if (on_second_.size() > 1) {
      any = cut_.add_vertex();
      for (uint32_t reader : on_second_) cut_.add_cost_between(any, reader, never);
    }
    if (producer == no_vertex || paid.second >= paid.first) return cut_.add_cost(any, 0, paid.second);
    cut_.add_cost(any, 0, paid.second);
    cut_.add_cost_between(producer, any, paid.first == never ? never : paid.first - paid.second);
  }

  const PlacementCosts& costs_;
  const std::vector<uint32_t>&first_, &second_;
  MinimumCut cut_;
  std::vector<uint32_t> vertex_;                // indexed by atom
  std::vector<uint32_t> on_first_, on_second_;  // vertices of the readers of the value that is being added
};

}  // namespace

std::vector<uint32_t> choose_between(const PlacementCosts& costs, const std::vector<uint32_t>& first,
                                     const std::vector<uint32_t>& second,
                                     const std::vector<int64_t>& crossing) {
  return TwoWayChoice(costs, first, second).run(crossing);
}

}  // namespace intarsia
