#include "plan/place/canonical_order.h"

#include <queue>
#include <tuple>

namespace intarsia {
namespace {

/// Mixes both numbers by the finalizer of splitmix64.
uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15 + b;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::vector<uint32_t> count_producers(const Neighbors& next) {
  std::vector<uint32_t> missing(next.size(), 0);
  for (const std::vector<uint32_t>& readers : next) {
    for (uint32_t reader : readers) ++missing[reader];
  }
  return missing;
}

/// Label of each atom, made from everything that leads to it or that it leads to. Labels are summed, so that
/// their order does not matter.
class AtomLabels {
 public:
  AtomLabels(const PlacementCosts& costs, const Neighbors& next)
      : costs_(costs), values_of_(find_atom_values(costs)), next_(next) {
    for (const std::vector<int64_t>& times : costs.times) {
      uint64_t label = 0;
      for (int64_t time : times) label = mix(label, static_cast<uint64_t>(time));
      atoms_.push_back(label);
    }
    for (const CostedValue& value : costs.values)
      values_.push_back(mix(static_cast<uint64_t>(value.bytes), value.is_output));
  }

  std::vector<uint64_t> run() {
    const std::vector<uint32_t> order = sort_atoms();
    refine(order);
    refine(order);  // tells apart atoms with like readers that have other, different producers
    return std::move(atoms_);
  }

 private:
  std::vector<uint32_t> sort_atoms() const {
    std::vector<uint32_t> missing = count_producers(next_), order;
    for (uint32_t atom = 0; atom < missing.size(); ++atom) {
      if (missing[atom] == 0) order.push_back(atom);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      for (uint32_t reader : next_[order[i]]) {
        if (--missing[reader] == 0) order.push_back(reader);
      }
    }
    INTARSIA_CHECK(order.size() == missing.size());  // there is no cycle
    return order;
  }

  static uint64_t sum(const std::vector<uint32_t>& which, const std::vector<uint64_t>& labels) {
    uint64_t total = 0;
    for (uint32_t i : which) total += labels[i];
    return total;
  }

  void refine(const std::vector<uint32_t>& order) {
    std::vector<uint64_t> atoms_above = atoms_, values_above = values_;
    for (uint32_t atom : order) {
      atoms_above[atom] = mix(atoms_[atom], sum(values_of_.reads[atom], values_above));
      for (uint32_t made : values_of_.makes[atom]) values_above[made] = mix(values_[made], atoms_above[atom]);
    }
    std::vector<uint64_t> atoms_below = atoms_, values_below = values_;
    for (size_t i = order.size(); i-- > 0;) {
      for (uint32_t made : values_of_.makes[order[i]])
        values_below[made] = mix(values_[made], sum(costs_.values[made].readers, atoms_below));
      atoms_below[order[i]] = mix(atoms_[order[i]], sum(values_of_.makes[order[i]], values_below));
    }
    for (size_t v = 0; v < values_.size(); ++v) {
      const CostedValue& value = costs_.values[v];
      if (value.producer == no_atom) values_below[v] = mix(values_[v], sum(value.readers, atoms_below));
      values_[v] = mix(values_above[v], values_below[v]);
    }
    for (size_t atom = 0; atom < atoms_.size(); ++atom)
      atoms_[atom] = mix(atoms_above[atom], atoms_below[atom]);
  }

  const PlacementCosts& costs_;
  const AtomValues values_of_;
  const Neighbors& next_;
  std::vector<uint64_t> atoms_, values_;
};

}  // namespace

std::vector<uint32_t> canonical_order(const PlacementCosts& costs) {
  const Neighbors next = find_reading_atoms(costs);
  const std::vector<uint64_t> labels = AtomLabels(costs, next).run();
  std::vector<uint32_t> missing = count_producers(next), order;
  std::vector<uint64_t> producers(next.size(), 0);  // sums of their places in the order, mixed
  using Entry = std::tuple<uint64_t, uint64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto add = [&](uint32_t atom) { ready.emplace(labels[atom], producers[atom], atom); };
  for (uint32_t atom = 0; atom < next.size(); ++atom) {
    if (missing[atom] == 0) add(atom);
  }
  while (!ready.empty()) {
    const uint32_t atom = std::get<uint32_t>(ready.top());
    ready.pop();
    for (uint32_t reader : next[atom]) {
      producers[reader] += mix(order.size(), 1);
      if (--missing[reader] == 0) add(reader);
    }
    order.push_back(atom);
  }
  return order;
}

PlacementCosts renumber_atoms(const PlacementCosts& costs, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> number(order.size());
  PlacementCosts result{costs.targets, costs.links, {}, costs.values};
  for (uint32_t i = 0; i < order.size(); ++i) {
    number[order[i]] = i;
    result.times.push_back(costs.times[order[i]]);
  }
  for (CostedValue& value : result.values) {
    if (value.producer != no_atom) value.producer = number[value.producer];
    for (uint32_t& reader : value.readers) reader = number[reader];
  }
  return result;
}

}  // namespace intarsia
