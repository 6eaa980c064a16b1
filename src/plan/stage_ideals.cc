#include "plan/stage_ideals.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/dynamic_bitset.hpp>
#include <unordered_map>

#include "plan/stage_counts.h"
#include "plan/stage_graph.h"

namespace intarsia {
namespace {

using Bits = boost::dynamic_bitset<uint64_t>;

struct HashOfBits {
  size_t operator()(const Bits& bits) const { return boost::hash_value(bits); }
};

/// All ideals of a graph, smaller ones first, and by which node each becomes a larger one.
struct Ideals {
  struct Step {
    uint32_t node, to;
  };
  std::vector<Bits> sets;
  std::vector<std::vector<Step>> steps;
};

std::vector<Bits> find_dependencies(const StageProblem& problem) {
  std::vector<Bits> dependencies(problem.nodes.size(), Bits(problem.nodes.size()));
  for (const StageValue& value : problem.values)
    for (uint32_t consumer : value.consumers) dependencies[consumer].set(value.producer);
  return dependencies;
}

/// Nothing: there are more.
std::optional<Ideals> enumerate_ideals(const StageProblem& problem, size_t most) {
  const std::vector<Bits> dependencies = find_dependencies(problem);
  Ideals ideals{{Bits(problem.nodes.size())}, {}};
  std::unordered_map<Bits, uint32_t, HashOfBits> known{{ideals.sets[0], 0}};
  for (uint32_t i = 0; i < ideals.sets.size(); ++i) {
    ideals.steps.emplace_back();
    for (uint32_t node = 0; node < problem.nodes.size(); ++node) {
      if (ideals.sets[i].test(node) || !dependencies[node].is_subset_of(ideals.sets[i])) continue;
      Bits larger = ideals.sets[i];
      larger.set(node);
      const auto [at, is_new] = known.emplace(std::move(larger), ideals.sets.size());
      if (is_new) ideals.sets.push_back(at->first);
      if (ideals.sets.size() > most) return std::nullopt;
      ideals.steps[i].push_back({node, at->second});
    }
  }
  return ideals;
}

class IdealSplitter {
 public:
  IdealSplitter(const StageProblem& problem, const Ideals& ideals, double most, size_t effort)
      : problem_(problem),
        ideals_(ideals),
        counts_(problem.devices),
        neighbors_(find_neighbors(problem)),
        effort_(effort),
        most_(most),
        states_(ideals.sets.size() * counts_.size()),
        visited_(ideals.sets.size(), no_ideal),
        stage_{.loads = std::vector<double>(problem.devices.size()),
               .refused = std::vector<uint32_t>(problem.devices.size()),
               .inside = std::vector<uint32_t>(problem.values.size())} {
    for (const StageValue& value : problem.values)
      readers_.push_back(static_cast<uint32_t>(value.consumers.size()));
    states_[0].load = 0;
  }

  std::optional<StageSplit> run() {
    for (uint32_t first = 0; first + 1 < ideals_.sets.size(); ++first) {
      if (!is_reached(first)) continue;
      first_ = first;
      extend(first);
      if (effort_ == 0) return std::nullopt;
    }
    return trace();
  }

 private:
  static constexpr uint32_t no_ideal = ~0U;
  struct State {
    double load = cannot_run;
    uint32_t first = 0;  // where the last stage begins
    uint32_t kind = 0;
  };
  /// What is known of the nodes that are in the stage so far.
  struct Stage {
    std::vector<double> loads;      // times of nodes that can run there, by kind
    std::vector<uint32_t> refused;  // how many others, by kind
    std::vector<uint32_t> inside;   // of each value: its consumers here
    double bytes = 0, received = 0, sent = 0;
  };

  State& state(uint32_t ideal, size_t used) { return states_[ideal * counts_.size() + used]; }

  bool is_reached(uint32_t ideal) {
    for (size_t used = 0; used < counts_.size(); ++used)
      if (state(ideal, used).load < most_) return true;
    return false;
  }

  /// All stages from `first_` that contain the nodes up to `ideal`.
  void extend(uint32_t ideal) {
    for (const Ideals::Step& step : ideals_.steps[ideal]) {
      if (visited_[step.to] == first_ || effort_ == 0) continue;
      visited_[step.to] = first_;
      --effort_;
      const Stage before{{}, {}, {}, stage_.bytes, stage_.received, stage_.sent};
      add(step.node);
      if (relax(step.to)) extend(step.to);
      remove(step.node);
      stage_.bytes = before.bytes, stage_.received = before.received, stage_.sent = before.sent;
    }
  }

  void add(uint32_t node) {
    for (size_t kind = 0; kind < stage_.loads.size(); ++kind) {
      const double time = problem_.nodes[node].time[kind];
      if (time == cannot_run)
        ++stage_.refused[kind];
      else
        stage_.loads[kind] += time;
    }
    stage_.bytes += problem_.nodes[node].bytes;
    for (uint32_t value : neighbors_.made[node])
      if (readers_[value] > 0) stage_.sent += problem_.values[value].transfer;
    for (uint32_t value : neighbors_.read[node]) {
      const double transfer = problem_.values[value].transfer;
      const uint32_t here = ++stage_.inside[value];
      if (ideals_.sets[first_].test(problem_.values[value].producer)) {
        if (here == 1) stage_.received += transfer;
      } else if (here == readers_[value]) {
        stage_.sent -= transfer;
      }
    }
  }

  /// The sums that add() does not only count in are restored by the caller.
  void remove(uint32_t node) {
    for (size_t kind = 0; kind < stage_.loads.size(); ++kind) {
      const double time = problem_.nodes[node].time[kind];
      if (time == cannot_run)
        --stage_.refused[kind];
      else
        stage_.loads[kind] -= time;
    }
    for (uint32_t value : neighbors_.read[node]) --stage_.inside[value];
  }

  /// False: larger stages are too long on every kind of device, too.
  bool relax(uint32_t ideal) {
    bool goes_on = false;
    for (uint32_t kind = 0; kind < stage_.loads.size(); ++kind) {
      const StageDevices& devices = problem_.devices[kind];
      const double at_least = stage_.loads[kind] + (devices.pays_transfers ? stage_.received : 0);
      if (stage_.refused[kind] > 0 || stage_.bytes > devices.memory || at_least >= most_) continue;
      goes_on = true;
      const double load = at_least + (devices.pays_transfers ? std::max(stage_.sent, 0.0) : 0);
      if (load >= most_) continue;
      for (size_t used = 0; used < counts_.size(); ++used) {
        if (!counts_.has_more(used, kind)) continue;
        const double whole = std::max(state(first_, used).load, load);
        State& after = state(ideal, counts_.one_more(used, kind));
        if (whole < after.load) after = {whole, first_, kind};
      }
    }
    return goes_on;
  }

  StageSplit trace() {
    StageSplit split;
    auto end = static_cast<uint32_t>(ideals_.sets.size() - 1);
    size_t used = 0;
    for (size_t i = 0; i < counts_.size(); ++i)
      if (state(end, i).load < std::min(split.max_load, most_)) split.max_load = state(end, i).load, used = i;
    if (split.max_load == cannot_run) return split;
    while (end > 0) {
      const State at = state(end, used);
      StageSplit::Stage stage{at.kind, {}, 0};
      const Bits nodes = ideals_.sets[end] - ideals_.sets[at.first];
      for (size_t i = nodes.find_first(); i != Bits::npos; i = nodes.find_next(i))
        stage.nodes.push_back(static_cast<uint32_t>(i));
      split.stages.push_back(std::move(stage));
      used = counts_.one_less(used, at.kind);
      end = at.first;
    }
    std::ranges::reverse(split.stages);
    return split;
  }

  const StageProblem& problem_;
  const Ideals& ideals_;
  DeviceCounts counts_;
  StageNeighbors neighbors_;
  size_t effort_;
  double most_;
  std::vector<State> states_;      // by ideal and devices in use
  std::vector<uint32_t> visited_;  // by ideal: where the last stage began that reached it
  std::vector<uint32_t> readers_;  // of each value
  Stage stage_;
  uint32_t first_ = 0;
};

}  // namespace

std::optional<StageSplit> split_ideals(const StageProblem& problem, double most, const IdealsEffort& effort) {
  const std::optional<Ideals> ideals = enumerate_ideals(problem, effort.ideals);
  if (!ideals) return std::nullopt;
  return IdealSplitter(problem, *ideals, most, effort.stages).run();
}

}  // namespace intarsia
