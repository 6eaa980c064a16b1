#include "plan/offer_stages.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <ranges>

#include "base/core_set.h"
#include "plan/split_stages.h"

namespace intarsia {
namespace {

using Groups = std::vector<ExecutorGroup>;

/// Each takes up to seconds to solve.
constexpr size_t most_offers = 64;
/// Throughputs that differ by less are alike.
constexpr double alike = 0.02;

/// So many executors in `groups` groups of about the same size, the largest first.
Groups divide_evenly(uint32_t kind, uint32_t executors, uint32_t groups) {
  Groups divided;
  for (uint32_t i = 0; i < groups; ++i)
    divided.push_back({kind, executors / groups + (i < executors % groups ? 1 : 0)});
  return divided;
}

/// Ways to hand out the executors of all kinds; of `count` groups, if there is one.
std::vector<Groups> list_groups(const ExecutorKinds& kinds, std::optional<uint32_t> count) {
  std::vector<Groups> lists(1);
  for (uint32_t kind = 0; kind < kinds.size(); ++kind) {
    const auto executors = static_cast<uint32_t>(kinds[kind].slots.size());
    std::vector<Groups> longer;
    for (const Groups& list : lists) {
      // No group of a kind leaves its executors out, which only a small count needs.
      for (uint32_t groups = count ? 0 : 1; groups <= executors; ++groups) {
        longer.push_back(list);
        const Groups more = divide_evenly(kind, executors, groups);
        longer.back().insert(longer.back().end(), more.begin(), more.end());
      }
    }
    lists = std::move(longer);
  }
  std::erase_if(lists, [&](const Groups& list) { return list.empty() || (count && list.size() != *count); });
  if (lists.size() > most_offers) lists.resize(most_offers);
  return lists;
}

class OfferMaker {
 public:
  OfferMaker(StageProblem problem, const Groups& groups)
      : problem_(std::move(problem)), distinct_(distinct_groups(groups)), unused_(groups) {}

  /// Nothing: some node runs on none of the executors, or memory is too small.
  std::optional<StageOffer> make() {
    if (!verify_stage_problem(problem_)) return std::nullopt;
    const StageSplit split = split_stages(problem_);
    if (split.stages.empty()) return std::nullopt;
    for (const StageSplit::Stage& stage : split.stages) {
      offer_.stages.push_back({distinct_[stage.kind], {}, stage.nodes, stage.load});
      unused_.erase(std::ranges::find(unused_, distinct_[stage.kind]));
    }
    offer_.lower_bound = split.lower_bound;
    return finish();
  }

  /// The offer with stages divided until there are so many; nothing: none can be divided any more.
  std::optional<StageOffer> divide(size_t count) {
    while (offer_.stages.size() < count)
      if (!divide_one()) return std::nullopt;
    return finish();
  }

 private:
  StageOffer finish() {
    offer_.max_load = std::ranges::max(offer_.stages, {}, &OfferedStage::load).load;
    return offer_;
  }

  double load_of(const ExecutorGroup& group, const std::vector<uint32_t>& segments) const {
    const auto kind = std::ranges::find(distinct_, group) - distinct_.begin();
    return stage_load(problem_, static_cast<uint32_t>(kind), segments);
  }

  bool tears_apart(const std::vector<uint32_t>& segments, size_t at) const {
    const auto is_first = [&](uint32_t node) { return node < segments[at]; };
    return std::ranges::any_of(problem_.together, [&](const std::vector<uint32_t>& group) {
      return std::ranges::binary_search(segments, group[0]) && !std::ranges::all_of(group, is_first) &&
             !std::ranges::none_of(group, is_first);
    });
  }

  /// The stage in two, of which the second gets the group; nothing: it cannot be divided.
  std::optional<std::pair<OfferedStage, OfferedStage>> halve(const OfferedStage& stage,
                                                             const ExecutorGroup& group) const {
    std::optional<std::pair<OfferedStage, OfferedStage>> best;
    double least = cannot_run;
    for (size_t at = 1; at < stage.segments.size(); ++at) {
      if (tears_apart(stage.segments, at)) continue;
      const auto middle = stage.segments.begin() + static_cast<std::ptrdiff_t>(at);
      OfferedStage first{stage.group, {}, {stage.segments.begin(), middle}};
      OfferedStage second{group, {}, {middle, stage.segments.end()}};
      first.load = load_of(first.group, first.segments);
      second.load = load_of(second.group, second.segments);
      if (std::max(first.load, second.load) >= least) continue;
      least = std::max(first.load, second.load);
      best.emplace(std::move(first), std::move(second));
    }
    return best;
  }

  bool divide_one() {
    std::vector<size_t> by_load(offer_.stages.size());
    std::iota(by_load.begin(), by_load.end(), size_t{0});
    std::ranges::sort(by_load, std::greater(), [&](size_t i) { return offer_.stages[i].load; });
    for (size_t i : by_load) {
      auto halves = halve(offer_.stages[i], unused_[0]);
      if (!halves) continue;
      unused_.erase(unused_.begin());
      offer_.stages[i] = std::move(halves->first);
      offer_.stages.insert(offer_.stages.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                           std::move(halves->second));
      return true;
    }
    return false;
  }

  const StageProblem problem_;
  const Groups distinct_;
  Groups unused_;
  StageOffer offer_;
};

/// The cores of a slot; nothing: it has none, or all that there are.
std::optional<CoreSet> cores_of(const DeviceSlot& slot) {
  const size_t colon = slot.device.find(':');
  if (slot.cores == 0 || colon == std::string::npos) return std::nullopt;
  const Result<CoreSet> cores = CoreSet::parse(slot.device.substr(colon + 1));
  return cores ? std::optional(*cores) : std::nullopt;
}

bool share_cores(const DeviceSlot& one, const DeviceSlot& other) {
  if (one.kind != "cpu" || other.kind != "cpu") return one.device == other.device;
  const std::optional<CoreSet> cores = cores_of(one), others = cores_of(other);
  if (!cores || !others) return true;
  return std::ranges::any_of(cores->numbers(), [&](int core) {
    return std::ranges::find(others->numbers(), core) != others->numbers().end();
  });
}

using Slots = std::vector<uint32_t>;

/// Adds to `found` the sets of slots that share no core, begun by `chosen`, to which none could be added.
void add_disjoint_sets(const PlanningProblem& problem, uint32_t next, Slots& chosen,
                       std::vector<Slots>& found) {
  const auto slots = static_cast<uint32_t>(problem.slots.size());
  const auto is_free = [&](uint32_t slot) {
    return std::ranges::none_of(
        chosen, [&](uint32_t other) { return share_cores(problem.slots[slot], problem.slots[other]); });
  };
  const auto excludes = [&](uint32_t later) {
    return share_cores(problem.slots[next], problem.slots[later]);
  };
  if (found.size() >= most_offers) return;
  if (next == slots) {
    const auto all = std::views::iota(0u, slots);
    if (std::ranges::none_of(all, is_free)) found.push_back(chosen);
    return;
  }
  const bool may_work = is_free(next);
  if (may_work) {
    chosen.push_back(next);
    add_disjoint_sets(problem, next + 1, chosen, found);
    chosen.pop_back();
  }
  if (!may_work || std::ranges::any_of(std::views::iota(next + 1, slots), excludes))
    add_disjoint_sets(problem, next + 1, chosen, found);
}

/// The kinds with only these slots.
ExecutorKinds keep_slots(const ExecutorKinds& kinds, const Slots& slots) {
  ExecutorKinds kept;
  for (const ExecutorKind& kind : kinds) {
    kept.push_back({{}, kind.times});
    std::ranges::copy_if(kind.slots, std::back_inserter(kept.back().slots),
                         [&](uint32_t slot) { return std::ranges::find(slots, slot) != slots.end(); });
  }
  std::erase_if(kept, [](const ExecutorKind& kind) { return kind.slots.empty(); });
  return kept;
}

/// Each stage takes the next executors of its kind.
void hand_out(const ExecutorKinds& kinds, StageOffer& offer) {
  std::vector<size_t> used(kinds.size(), 0);
  for (OfferedStage& stage : offer.stages) {
    const Slots& slots = kinds[stage.group.kind].slots;
    for (uint32_t i = 0; i < stage.group.replicas; ++i)
      stage.slots.push_back(slots[used[stage.group.kind]++]);
  }
}

}  // namespace

Result<std::vector<StageOffer>> offer_stages(const PlanningProblem& problem, const Placement& placement,
                                             const SegmentCosts& costs, const ExecutorKinds& kinds,
                                             const std::vector<double>& memory,
                                             std::optional<uint32_t> count) {
  std::vector<Slots> sets;
  Slots none;
  add_disjoint_sets(problem, 0, none, sets);
  const size_t most = std::ranges::max(sets, {}, &Slots::size).size();
  if (count && *count > most)
    return fail(
        "--stages {}: at most {} executors work at once; name as many as stages with -d, as in -d "
        "cpu:0,cpu:1",
        *count, most);
  if (count && *count > costs.segments.size())
    return fail("--stages {}: the model has {} parts that can be apart; want at most as many stages", *count,
                costs.segments.size());
  std::vector<StageOffer> offers;
  for (const Slots& slots : sets) {
    const ExecutorKinds working = keep_slots(kinds, slots);
    for (const Groups& groups : list_groups(working, count)) {
      OfferMaker maker(make_stage_problem(problem, placement, costs, working, groups, memory), groups);
      std::optional<StageOffer> offer = maker.make();
      if (offer && count) offer = maker.divide(*count);
      if (!offer || offers.size() >= most_offers) continue;
      hand_out(working, *offer);
      offers.push_back(std::move(*offer));
    }
  }
  if (offers.empty() && count)
    return fail("--stages {}: the model has fewer parts that can be apart, or the executors cannot run them",
                *count);
  return offers;
}

const StageOffer& find_best_offer(const std::vector<StageOffer>& offers) {
  const double least = std::ranges::min(offers, {}, &StageOffer::max_load).max_load;
  const StageOffer* best = nullptr;
  for (const StageOffer& offer : offers) {
    if (offer.max_load > (1 + alike) * least) continue;
    if (best == nullptr || offer.stages.size() < best->stages.size()) best = &offer;
  }
  return *best;
}

std::string describe_offer(const PlanningProblem& problem, const StageOffer& offer) {
  std::vector<std::string> stages;
  for (const OfferedStage& stage : offer.stages) {
    std::vector<std::string> names;
    for (uint32_t slot : stage.slots) names.push_back(problem.slots[slot].name);
    stages.push_back(fmt::format("{}", fmt::join(names, ", ")));
  }
  if (stages.size() > 1) return fmt::format("{} stages: {}", stages.size(), fmt::join(stages, " | "));
  const uint32_t replicas = offer.stages[0].group.replicas;
  return replicas == 1 ? fmt::format("the whole on {}", stages[0])
                       : fmt::format("{} replicas of the whole: {}", replicas, stages[0]);
}

}  // namespace intarsia
