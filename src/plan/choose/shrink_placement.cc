#include "plan/choose/shrink_placement.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/byte_size.h"
#include "graph/count_operations.h"
#include "plan/costs/boundary_prices.h"
#include "plan/partition/is_work.h"
#include "plan/place/mix_backends.h"
#include "plan/place/plan_candidates.h"

namespace intarsia {
namespace {

/// Limit of placements that are looked at one by one.
constexpr size_t most_listed = 4096;

uint64_t constants_of(const Graph& graph, NodeId node) {
  uint64_t bytes = 0;
  for (ValueId id : values_read(graph.node(node))) {
    const std::optional<Tensor>& constant = graph.value(id).constant;
    if (constant && constant->dtype() != DType::string) bytes += constant->bytes();
  }
  return bytes;
}

/// Returns the bytes of all weights, and the most that one node reads and makes besides: values come and go.
double weigh_segment(const Graph& graph, const std::vector<NodeId>& segment) {
  uint64_t constants = 0, most = 0;
  for (NodeId node : segment) {
    const uint64_t own = constants_of(graph, node), all = count_bytes(graph, graph.node(node));
    constants += own;
    most = std::max(most, all - std::min(own, all));
  }
  return static_cast<double>(constants + most);
}

class PriceSearch {
 public:
  PriceSearch(const PlanningProblem& problem, const Placement& placed, const SegmentCosts& costs,
              const Replan& replan, const MeasureMemory& estimate)
      : problem_(problem),
        placed_(placed),
        costs_(costs),
        replan_(replan),
        estimate_(estimate),
        prices_(problem.spaces.size()) {
    for (const std::vector<NodeId>& segment : costs.segments)
      weights_.push_back(weigh_segment(problem.graph, segment));
  }

  std::vector<Placement> run() {
    constexpr int most_rounds = 20;
    for (int round = 0; round < most_rounds; ++round) {
      const std::optional<MixedPlacement> mixed = mix_backends(problem_, placed_, add_prices());
      if (!mixed) break;
      if (round == 0) set_first_price(static_cast<double>(mixed->predicted));
      const auto uses = estimate(mixed->placement);
      if (!uses || !adjust(mixed->placement, *uses)) break;
    }
    if (!found_.empty() && over_) {
      const Placement within = found_.begin()->second;
      cut_between(*over_, within, true);
      cut_between(*over_, within, false);
    }
    std::vector<Placement> found;
    for (const auto& [cost, placement] : found_) found.push_back(placement);
    return found;
  }

 private:
  /// Price of a byte in one memory, in nanoseconds.
  struct Price {
    double now = 0;
    double low = 0;   // price at which it did not fit
    double high = 0;  // price at which it fit; 0 if none is known
  };

  Result<std::vector<MemoryUse>> estimate(const Placement& placement) const {
    return estimate_(TRY(replan_(placement)));
  }

  /// Keeps placements between the two that fit. At one price all parts that cost alike change places at once;
  /// between such a placement and the one before are those in which only the first of these parts have
  /// changed places, or only the last.
  void cut_between(const Placement& over, const Placement& within, bool is_first) {
    std::vector<const std::vector<NodeId>*> changed;
    for (const std::vector<NodeId>& segment : costs_.segments) {
      const size_t first = index(segment[0]);
      if (over.nodes[first].target != within.nodes[first].target) changed.push_back(&segment);
    }
    if (!is_first) std::ranges::reverse(changed);
    size_t too_few = 0, enough = changed.size();
    while (enough - too_few > 1) {
      const size_t middle = (enough + too_few) / 2;
      Placement between = over;
      for (size_t at = 0; at < middle; ++at) {
        for (NodeId node : *changed[at]) between[node].target = within[node].target;
      }
      const auto uses = estimate(between);
      const bool is_enough = uses && bytes_over(problem_, *uses) == 0;
      if (is_enough) keep(std::move(between));
      (is_enough ? enough : too_few) = middle;
    }
  }

  SegmentCosts add_prices() const {
    SegmentCosts priced = costs_;
    for (size_t s = 0; s < priced.times.size(); ++s) {
      for (uint32_t t = 0; t < priced.times[s].size(); ++t) {
        if (priced.times[s][t] < too_long)
          priced.times[s][t] += std::llround(prices_[problem_.space_of_target[t]].now * weights_[s]);
      }
    }
    return priced;
  }

  void set_first_price(double nanoseconds) {
    double weight = 1;
    for (double one : weights_) weight += one;
    first_price_ = 0.01 * std::max(nanoseconds, 1.0) / weight;
    last_price_ = static_cast<double>(too_long) / 4 / weight;
  }

  /// Keeps a placement that fits, and changes prices. Returns false if no other price promises more.
  bool adjust(const Placement& placement, const std::vector<MemoryUse>& uses) {
    bool changes = false;
    for (uint32_t space = 0; space < uses.size(); ++space) {
      const bool is_over = uses[space].total() > problem_.memory_limit(space);
      changes |= is_over ? raise(prices_[space]) : lower(prices_[space]);
    }
    if (bytes_over(problem_, uses) == 0)
      keep(placement);
    else
      over_ = placement;
    return changes;
  }

  bool raise(Price& price) const {
    price.low = price.now;
    if (price.high <= price.low * close) price.high = 0;  // price of another memory has changed
    price.now = price.high > 0 ? middle(price) : std::max(first_price_, 4 * price.now);
    return price.now <= last_price_;
  }

  bool lower(Price& price) const {
    if (price.now == 0) return false;
    price.high = price.now;
    price.now = middle(price);
    return price.high > std::max(price.low * close, first_price_);
  }

  double middle(const Price& price) const {
    return std::sqrt(std::max(price.low, first_price_ / 4) * price.high);
  }

  void keep(Placement placement) {
    for (size_t i = 0; i < placement.nodes.size(); ++i) {
      if (placement.nodes[i].target == placed_.nodes[i].target) continue;
      const uint32_t space = problem_.space_of_target[placed_.nodes[i].target];
      if (problem_.memory_limit(space) != no_limit)
        placement.nodes[i].reason = fmt::format("keeps {} within {}", problem_.spaces[space],
                                                print_byte_size(problem_.memory_limit(space)));
    }
    if (!seen_.insert(placement.targets()).second) return;
    found_.emplace(price_placement(problem_, placement, costs_), std::move(placement));
  }

  static constexpr double close = 1.05;  // ratio up to which prices count as equal
  const PlanningProblem& problem_;
  const Placement& placed_;
  const SegmentCosts& costs_;
  const Replan& replan_;
  const MeasureMemory& estimate_;
  std::vector<double> weights_;  // bytes by segment
  std::vector<Price> prices_;    // indexed by memory
  double first_price_ = 0, last_price_ = 0;
  std::set<std::vector<uint32_t>> seen_;
  std::multimap<int64_t, Placement> found_;  // sorted by cost
  std::optional<Placement> over_;            // last one that does not fit
};

/// Lists the targets that each node may be on, that of `placed` first.
std::vector<std::vector<uint32_t>> list_choices(const PlanningProblem& problem, const Placement& placed) {
  std::vector<std::vector<uint32_t>> choices;
  for (uint32_t i = 0; i < placed.nodes.size(); ++i) {
    std::vector<uint32_t>& targets = choices.emplace_back(1, placed.nodes[i].target);
    for (uint32_t t = 0; t < problem.targets.size(); ++t) {
      if (t != placed.nodes[i].target && may_go(problem, placed, NodeId{i}, t)) targets.push_back(t);
    }
  }
  return choices;
}

}  // namespace

uint64_t bytes_over(const PlanningProblem& problem, const std::vector<MemoryUse>& uses) {
  uint64_t bytes = 0;
  for (uint32_t space = 0; space < uses.size(); ++space) {
    const uint64_t limit = problem.memory_limit(space);
    bytes += uses[space].total() - std::min(uses[space].total(), limit);
  }
  return bytes;
}

SegmentCosts guess_costs(const PlanningProblem& problem, const Placement& placed, bool by_node) {
  constexpr double all_take = 1e8, node_takes = 1000;  // nanoseconds
  constexpr double elsewhere = 1.5, unoptimized = 50;
  const size_t targets = problem.targets.size(), spaces = problem.spaces.size();
  std::vector<std::vector<bool>> may_run(problem.graph.nodes.size(), std::vector<bool>(targets));
  SegmentCosts costs;
  double operations = 1;
  for (uint32_t i = 0; i < may_run.size(); ++i) {
    for (uint32_t t = 0; t < targets; ++t) may_run[i][t] = may_go(problem, placed, NodeId{i}, t);
    operations += static_cast<double>(count_operations(problem.graph, problem.graph.nodes[i]));
    const bool is_start =
        by_node || i == 0 || may_run[i] != may_run[i - 1] || is_work(problem.graph.nodes[i]);
    if (is_start) costs.segments.emplace_back();
    costs.segments.back().push_back(NodeId{i});
  }
  costs.links.assign(spaces, std::vector<Link>(spaces, Link{1'000'000, 1}));
  for (const PlacementTarget& target : problem.targets) costs.boundaries.push_back(assumed_boundary(target));
  for (const std::vector<NodeId>& segment : costs.segments) {
    double own = 0;
    for (NodeId node : segment)
      own += static_cast<double>(count_operations(problem.graph, problem.graph.node(node)));
    const double time = node_takes * static_cast<double>(segment.size()) + all_take * own / operations;
    std::vector<int64_t>& times = costs.times.emplace_back(targets, never);
    for (uint32_t t = 0; t < targets; ++t) {
      if (!may_run[index(segment[0])][t]) continue;
      const double factor = t == placed[segment[0]].target                      ? 1
                            : problem.targets[t].backend->info().is_unoptimized ? unoptimized
                                                                                : elsewhere;
      times[t] = std::llround(factor * time);
    }
  }
  return costs;
}

std::vector<Placement> shrink_placement(const PlanningProblem& problem, const Placement& placed,
                                        const SegmentCosts& costs, const Replan& replan,
                                        const MeasureMemory& estimate) {
  return PriceSearch(problem, placed, costs, replan, estimate).run();
}

std::vector<Placement> list_placements(const PlanningProblem& problem, const Placement& placed,
                                       const Replan& replan, const MeasureMemory& estimate) {
  const std::vector<std::vector<uint32_t>> choices = list_choices(problem, placed);
  size_t count = 1;
  for (const std::vector<uint32_t>& targets : choices) {
    count *= targets.size();
    if (count > most_listed) return {};
  }
  std::multimap<uint64_t, Placement> by_excess;
  for (size_t number = 0; number < count; ++number) {
    Placement placement = placed;
    size_t rest = number;
    for (size_t i = 0; i < choices.size(); rest /= choices[i++].size()) {
      placement.nodes[i].target = choices[i][rest % choices[i].size()];
      if (placement.nodes[i].target != placed.nodes[i].target)
        placement.nodes[i].reason = "keeps memory within its limit";
    }
    const Result<Plan> plan = replan(placement);
    const Result<std::vector<MemoryUse>> uses = plan ? estimate(*plan) : tl::unexpected(plan.error());
    if (uses) by_excess.emplace(bytes_over(problem, *uses), std::move(placement));
  }
  std::vector<Placement> found;
  for (auto& [excess, placement] : by_excess) found.push_back(std::move(placement));
  return found;
}

}  // namespace intarsia
