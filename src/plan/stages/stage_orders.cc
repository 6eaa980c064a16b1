#include "plan/stages/stage_orders.h"

#include <algorithm>
#include <random>

#include "plan/stages/stage_counts.h"
#include "plan/stages/stage_graph.h"

namespace intarsia {
namespace {

/// Best splits of an order's prefixes.
class OrderSplitter {
 public:
  OrderSplitter(const StageProblem& problem, const std::vector<uint32_t>& order, double most)
      : problem_(problem),
        order_(order),
        counts_(problem.teams),
        neighbors_(find_neighbors(problem)),
        position_(order.size()),
        last_(problem.values.size()),
        states_((order.size() + 1) * counts_.size()),
        best_(most) {
    for (uint32_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    for (uint32_t value = 0; value < last_.size(); ++value) {
      const StageValue& about = problem.values[value];
      if (about.producer != no_stage_node) last_[value] = position_[about.producer];
      for (uint32_t consumer : about.consumers) last_[value] = std::max(last_[value], position_[consumer]);
      if (about.is_output) last_[value] = outside;
    }
    states_[0].load = 0;
  }

  StageSplit run() {
    for (uint32_t first = 0; first < order_.size(); ++first)
      if (least_load(first) < best_) extend(first);
    return trace();
  }

 private:
  struct State {
    double load = cannot_run;  // largest load of the stages so far
    uint32_t first = 0;        // start of the last stage
    uint32_t team = 0;
  };
  static constexpr uint32_t outside = ~0U;

  State& state(size_t end, size_t used) { return states_[end * counts_.size() + used]; }

  double least_load(size_t end) {
    double least = cannot_run;
    for (size_t used = 0; used < counts_.size(); ++used) least = std::min(least, state(end, used).load);
    return least;
  }

  /// Tries all stages that start there.
  void extend(uint32_t first) {
    StageWork work(problem_.devices.size());
    std::vector<StageTraffic> ending(order_.size() - first);  // traffic that ends once that node is in
    for (uint32_t last = first; last < order_.size(); ++last) {
      const uint32_t node = order_[last];
      work.add(problem_.nodes[node]);
      for (uint32_t read : neighbors_.read[node]) {
        const StageValue& value = problem_.values[read];
        const bool is_made_before = value.producer == no_stage_node || position_[value.producer] < first;
        if (is_made_before && !is_read_between(read, first, last)) work.received += value.traffic();
      }
      for (uint32_t value : neighbors_.made[node]) {
        if (last_[value] == last) continue;
        work.sent += problem_.values[value].traffic();
        if (last_[value] != outside) ending[last_[value] - first] += problem_.values[value].traffic();
      }
      work.sent -= ending[last - first];
      if (!add_stage(first, last, work)) return;
    }
  }

  /// Checks whether a node from `first` to before `last` reads the value.
  bool is_read_between(uint32_t value, uint32_t first, uint32_t last) const {
    return std::ranges::any_of(problem_.values[value].consumers, [&](uint32_t consumer) {
      return position_[consumer] >= first && position_[consumer] < last;
    });
  }

  /// Adds the stage where it is better. Returns false if this one and longer ones are too long for every
  /// team.
  bool add_stage(uint32_t first, uint32_t last, const StageWork& work) {
    bool goes_on = false;
    for (uint32_t team = 0; team < problem_.teams.size(); ++team) {
      if (least_team_load(problem_, problem_.teams[team], work) >= best_) continue;
      goes_on = true;
      const double load = team_load(problem_, problem_.teams[team], work);
      for (size_t used = 0; used < counts_.size(); ++used)
        if (counts_.has_more(used, team)) relax(first, last, used, team, load);
    }
    return goes_on;
  }

  void relax(uint32_t first, uint32_t last, size_t used, uint32_t team, double load) {
    State& after = state(last + 1, counts_.one_more(used, team));
    const double whole = std::max(state(first, used).load, load);
    if (whole >= std::min(after.load, best_)) return;
    after = {whole, first, team};
    if (last + 1 == order_.size()) best_ = whole;
  }

  StageSplit trace() {
    StageSplit split;
    size_t end = order_.size(), used = 0;
    for (size_t i = 0; i < counts_.size(); ++i)
      if (state(end, i).load < split.max_load) split.max_load = state(end, i).load, used = i;
    if (split.max_load == cannot_run) return split;
    while (end > 0) {
      const State at = state(end, used);
      StageSplit::Stage stage{at.team, {}, 0};
      for (size_t i = at.first; i < end; ++i) stage.nodes.push_back(order_[i]);
      std::ranges::sort(stage.nodes);
      split.stages.push_back(std::move(stage));
      used = counts_.one_less(used, at.team);
      end = at.first;
    }
    std::ranges::reverse(split.stages);
    return split;
  }

  const StageProblem& problem_;
  const std::vector<uint32_t>& order_;
  TeamCounts counts_;
  StageNeighbors neighbors_;
  std::vector<uint32_t> position_;  // position in the order, by node
  std::vector<uint32_t> last_;      // position of the last consumer, or outside, by value
  std::vector<State> states_;       // indexed by nodes so far and teams in use
  double best_;                     // load that a split must be below
};

/// Limit of the work of a search: about three seconds.
constexpr double most_work = 1e9;
constexpr double brief_orders = 16, most_orders = 20'000;

/// Estimates the work of splitting one order, if stages are tried up to twice an average team's share.
double work_of(const StageProblem& problem) {
  double teams = 0;
  for (const StageTeam& team : problem.teams) teams += team.count;
  const auto nodes = static_cast<double>(problem.nodes.size());
  const double states = static_cast<double>(TeamCounts(problem.teams).size());
  return nodes * nodes / std::max(teams, 1.0) * 2 * (states * static_cast<double>(problem.teams.size()) + 8);
}

/// Returns distances from the sources, or to the sinks, in nodes: orders by them go level by level.
std::vector<double> depths(const StageProblem& problem, const std::vector<uint32_t>& order, bool from_sinks) {
  const StageNeighbors neighbors = find_neighbors(problem);
  std::vector<double> depth(problem.nodes.size());
  const auto visit = [&](uint32_t node) {
    for (uint32_t value : neighbors.made[node])
      for (uint32_t consumer : problem.values[value].consumers)
        if (from_sinks)
          depth[node] = std::min(depth[node], depth[consumer] - 1);
        else
          depth[consumer] = std::max(depth[consumer], depth[node] + 1);
  };
  if (from_sinks)
    std::for_each(order.rbegin(), order.rend(), visit);
  else
    std::ranges::for_each(order, visit);
  return depth;
}

}  // namespace

StageSplit split_order(const StageProblem& problem, const std::vector<uint32_t>& order, double most) {
  return OrderSplitter(problem, order, most).run();
}

StageSplit search_orders(const StageProblem& problem, OrderSearch length) {
  const std::vector<uint32_t> natural = *order_nodes(problem);
  std::vector<std::vector<double>> priorities{depths(problem, natural, false),
                                              depths(problem, natural, true)};
  std::vector<double> best_priority(natural.size());
  for (uint32_t i = 0; i < natural.size(); ++i) best_priority[natural[i]] = i;
  priorities.push_back(best_priority);
  StageSplit best;
  const auto take = [&](const std::vector<double>& priority) {
    StageSplit split = split_order(problem, *order_nodes(problem, priority), best.max_load);
    if (split.max_load >= best.max_load) return;
    best = std::move(split);
    best_priority = priority;
  };
  for (const auto& priority : priorities) take(priority);
  std::mt19937 random(1);
  const double orders = length == OrderSearch::brief
                            ? brief_orders
                            : std::clamp(most_work / work_of(problem), brief_orders, most_orders);
  std::uniform_real_distribution<double> any(-1, 1);
  const double span = static_cast<double>(natural.size());
  for (int i = 0; i < orders; ++i) {
    std::vector<double> priority = best_priority;
    const double reach = span * std::pow(10, -1.5 * std::abs(any(random)));
    const size_t changes = 1 + random() % 8;
    for (size_t change = 0; change < changes; ++change)
      priority[random() % priority.size()] += reach * any(random);
    take(priority);
  }
  return best;
}

}  // namespace intarsia
