#include "plan/stages/stage_ideals.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/dynamic_bitset.hpp>
#include <unordered_map>

#include "plan/stages/stage_counts.h"
#include "plan/stages/stage_graph.h"

namespace intarsia {
namespace {

using Bits = boost::dynamic_bitset<uint64_t>;

struct HashOfBits {
  size_t operator()(const Bits& bits) const { return boost::hash_value(bits); }
};

/// Ideals of a graph, all of them, smaller ones first, and the nodes by which each becomes a larger one.
struct Ideals {
  struct Step {
    uint32_t node, to;
  };
  std::vector<Bits> sets;
  std::vector<std::vector<Step>> steps;
};

std::vector<Bits> find_dependencies(const StageProblem& problem) {
  std::vector<Bits> dependencies(problem.nodes.size(), Bits(problem.nodes.size()));
  for (const StageValue& value : problem.values) {
    if (value.producer == no_stage_node) continue;
    for (uint32_t consumer : value.consumers) dependencies[consumer].set(value.producer);
  }
  return dependencies;
}

/// Enumerates the ideals; nullopt if there are more than `most`.
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
        counts_(problem.teams),
        neighbors_(find_neighbors(problem)),
        effort_(effort),
        most_(most),
        states_(ideals.sets.size() * counts_.size()),
        visited_(ideals.sets.size(), no_ideal),
        stage_(problem.devices.size()),
        inside_(problem.values.size()) {
    for (const StageValue& value : problem.values)
      readers_.push_back(static_cast<uint32_t>(value.consumers.size() + (value.is_output ? 1 : 0)));
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
    uint32_t first = 0;  // ideal where the last stage starts
    uint32_t team = 0;
  };

  State& state(uint32_t ideal, size_t used) { return states_[ideal * counts_.size() + used]; }

  bool is_reached(uint32_t ideal) {
    for (size_t used = 0; used < counts_.size(); ++used)
      if (state(ideal, used).load < most_) return true;
    return false;
  }

  /// Tries all stages from `first_` that contain the nodes up to `ideal`.
  void extend(uint32_t ideal) {
    for (const Ideals::Step& step : ideals_.steps[ideal]) {
      if (visited_[step.to] == first_ || effort_ == 0) continue;
      visited_[step.to] = first_;
      --effort_;
      const double bytes = stage_.bytes;
      const StageTraffic received = stage_.received, sent = stage_.sent;
      add(step.node);
      if (relax(step.to)) extend(step.to);
      remove(step.node);
      stage_.bytes = bytes, stage_.received = received, stage_.sent = sent;
    }
  }

  void add(uint32_t node) {
    stage_.add(problem_.nodes[node]);
    for (uint32_t value : neighbors_.made[node])
      if (readers_[value] > 0) stage_.sent += problem_.values[value].traffic();
    for (uint32_t read : neighbors_.read[node]) {
      const StageValue& value = problem_.values[read];
      const uint32_t here = ++inside_[read];
      if (value.producer == no_stage_node || ideals_.sets[first_].test(value.producer)) {
        if (here == 1) stage_.received += value.traffic();
      } else if (here == readers_[read]) {
        stage_.sent -= value.traffic();
      }
    }
  }

  /// Removes the node from run times and counts; the caller restores bytes and traffic.
  void remove(uint32_t node) {
    for (size_t kind = 0; kind < stage_.run.size(); ++kind) {
      const double time = problem_.nodes[node].time[kind];
      if (time == cannot_run)
        --stage_.refused[kind];
      else
        stage_.run[kind] -= time;
    }
    for (uint32_t value : neighbors_.read[node]) --inside_[value];
  }

  /// Takes the stage up to `ideal` where it is better. Returns false if larger stages are too long for every
  /// team, too.
  bool relax(uint32_t ideal) {
    bool goes_on = false;
    for (uint32_t team = 0; team < problem_.teams.size(); ++team) {
      if (least_team_load(problem_, problem_.teams[team], stage_) >= most_) continue;
      goes_on = true;
      const double load = team_load(problem_, problem_.teams[team], stage_);
      if (load >= most_) continue;
      for (size_t used = 0; used < counts_.size(); ++used) {
        if (!counts_.has_more(used, team)) continue;
        const double whole = std::max(state(first_, used).load, load);
        State& after = state(ideal, counts_.one_more(used, team));
        if (whole < after.load) after = {whole, first_, team};
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
      StageSplit::Stage stage{at.team, {}, 0};
      const Bits nodes = ideals_.sets[end] - ideals_.sets[at.first];
      for (size_t i = nodes.find_first(); i != Bits::npos; i = nodes.find_next(i))
        stage.nodes.push_back(static_cast<uint32_t>(i));
      split.stages.push_back(std::move(stage));
      used = counts_.one_less(used, at.team);
      end = at.first;
    }
    std::ranges::reverse(split.stages);
    return split;
  }

  const StageProblem& problem_;
  const Ideals& ideals_;
  TeamCounts counts_;
  StageNeighbors neighbors_;
  size_t effort_;
  double most_;
  std::vector<State> states_;      // indexed by ideal and teams in use
  std::vector<uint32_t> visited_;  // start of the last stage that reached it, by ideal
  std::vector<uint32_t> readers_;  // number of readers of each value
  StageWork stage_;                // work of the nodes that are in the stage so far
  std::vector<uint32_t> inside_;   // number of consumers in the stage, by value
  uint32_t first_ = 0;
};

}  // namespace

std::optional<StageSplit> split_ideals(const StageProblem& problem, double most, const IdealsEffort& effort) {
  const std::optional<Ideals> ideals = enumerate_ideals(problem, effort.ideals);
  if (!ideals) return std::nullopt;
  return IdealSplitter(problem, *ideals, most, effort.stages).run();
}

}  // namespace intarsia
