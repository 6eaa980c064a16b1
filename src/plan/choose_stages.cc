#include "plan/choose_stages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/cut_graph.h"
#include "plan/describe_plan.h"
#include "plan/find_segments.h"
#include "plan/fit_memory.h"
#include "plan/offer_stages.h"
#include "plan/place_stages.h"

namespace intarsia {
namespace {

/// What the planner knows of the model's parts.
struct PartTimes {
  SegmentCosts costs;
  std::string guessed_reason;  // why they are estimates; empty: they are measured
};

/// Segments whose times nobody knows.
SegmentCosts unknown_costs(const PlanningProblem& problem, const Plan& plan) {
  std::vector<std::vector<bool>> may_run;
  for (uint32_t target : plan.placement.target) {
    may_run.emplace_back(problem.targets.size(), false);
    may_run.back()[target] = true;
  }
  SegmentCosts costs;
  costs.segments = list_segments(find_segments(problem.graph, may_run));
  costs.times.assign(costs.segments.size(), std::vector<int64_t>(problem.targets.size(), never));
  return costs;
}

PartTimes find_part_times(const PlanningProblem& problem, const ChosenPlan& chosen, const PlanTools& tools) {
  if (chosen.costs) return {*chosen.costs, ""};
  if (tools.timer == nullptr) return {unknown_costs(problem, chosen.plan), tools.disabled_reason};
  Result<SegmentCosts> costs =
      price_segments(problem, {&chosen.plan}, chosen.plan.placement, *tools.timer, tools.time_link);
  if (costs) return {std::move(*costs), ""};
  return {unknown_costs(problem, chosen.plan), costs.error().message};
}

/// Slots of stages that the user cuts.
Result<std::vector<uint32_t>> slots_in_order(const PlanningProblem& problem, uint32_t stages) {
  std::vector<uint32_t> slots(stages, 0);
  if (problem.slots.size() == 1) return slots;
  if (problem.slots.size() == stages) {
    std::iota(slots.begin(), slots.end(), 0u);
    return slots;
  }
  std::string names;
  for (const DeviceSlot& slot : problem.slots) names += (names.empty() ? "" : ", ") + slot.name;
  return fail(
      "--cut: {} stages for {} slots ({}): name one device a stage with -d, in the order of the stages, "
      "or one for all",
      stages, problem.slots.size(), names);
}

/// By stage, each on its slot: a node's part of its segment's time is that of its work.
std::vector<std::optional<int64_t>> predict_stages(const Graph& graph, const Plan& plan,
                                                   const Segments& segments, const ExecutorKinds& kinds,
                                                   const std::vector<ChosenStage>& stages) {
  std::vector<double> times(stages.size(), 0);
  for (size_t s = 0; s < segments.size(); ++s) {
    const double all = estimate_time(graph, segments[s]);
    for (NodeId node : segments[s]) {
      const uint32_t stage = plan.placement.stage[index(node)];
      const double part = estimate_time(graph, {node}) / all;
      times[stage] += kind_of_slot(kinds, stages[stage].slot).times[s] * part;
    }
  }
  std::vector<std::optional<int64_t>> predicted;
  for (double time : times)
    predicted.push_back(time < static_cast<double>(too_long) ? std::optional(std::llround(time))
                                                             : std::nullopt);
  return predicted;
}

/// By stage; nothing where regions are not timed.
std::vector<std::optional<int64_t>> measure_stages(const Plan& plan, size_t stages, const PlanTools& tools) {
  std::vector<std::optional<int64_t>> measured(stages);
  if (tools.timer == nullptr) return measured;
  const auto times = tools.timer->time_regions({&plan});
  if (!times) return measured;
  std::vector<int64_t> sums(stages, 0);
  for (size_t r = 0; r < plan.partition.regions.size(); ++r) {
    int64_t& sum = sums[plan.partition.regions[r].stage];
    sum = (*times)[0][r] >= too_long || sum == never ? never : sum + (*times)[0][r];
  }
  for (size_t stage = 0; stage < stages; ++stage)
    if (sums[stage] != never) measured[stage] = sums[stage];
  return measured;
}

/// By node: what runs its segment on the slot of its stage.
std::vector<const Target*> find_preferred(const Placement& placement, const Segments& segments,
                                          const ExecutorKinds& kinds, const std::vector<uint32_t>& slots) {
  std::vector<const Target*> preferred(placement.target.size(), nullptr);
  for (size_t s = 0; s < segments.size(); ++s) {
    for (NodeId node : segments[s]) {
      const uint32_t slot = slots[placement.stage[index(node)]];
      preferred[index(node)] = kind_of_slot(kinds, slot).backends[s];
    }
  }
  return preferred;
}

/// The plan with its nodes on the slots of their stages.
Result<StagedPlan> place_and_time(const PlanningProblem& problem, Placement placement,
                                  const Segments& segments, const ExecutorKinds& kinds,
                                  std::vector<ChosenStage> stages, const PlanTools& tools) {
  std::vector<uint32_t> slots;
  for (const ChosenStage& stage : stages) slots.push_back(stage.slot);
  place_stages(problem, slots, find_preferred(placement, segments, kinds, slots), placement);
  StagedPlan staged{TRY(tools.replan(std::move(placement))), std::move(stages), {}};
  const auto predicted = predict_stages(problem.graph, staged.plan, segments, kinds, staged.stages);
  const auto measured = measure_stages(staged.plan, staged.stages.size(), tools);
  for (size_t i = 0; i < staged.stages.size(); ++i) {
    staged.stages[i].predicted = predicted[i];
    staged.stages[i].measured = measured[i];
  }
  return staged;
}

Result<StagedPlan> cut_by_hand(const PlanningProblem& problem, const ChosenPlan& chosen,
                               const StageDemand& demand, const PlanTools& tools) {
  Placement placement = chosen.plan.placement;
  placement.stage = TRY(cut_graph(problem.graph, demand.cuts));
  std::vector<ChosenStage> stages;
  for (uint32_t slot : TRY(slots_in_order(problem, count_stages(placement))))
    stages.push_back({slot, {problem.slots[slot].device}});
  const PartTimes parts = find_part_times(problem, chosen, tools);
  const ExecutorKinds kinds = find_executor_kinds(problem, chosen.plan.placement, parts.costs);
  StagedPlan staged = TRY(
      place_and_time(problem, std::move(placement), parts.costs.segments, kinds, std::move(stages), tools));
  staged.report.chosen = "cut by hand";
  staged.report.guessed_reason = parts.guessed_reason;
  return staged;
}

/// Manners of what runs on which slot: everything as fast as it can be; and, where then slots are unlike that
/// need not be, as slots that take each other's frames.
std::vector<ExecutorKinds> list_manners(const PlanningProblem& problem, const Placement& placement,
                                        const SegmentCosts& costs) {
  std::vector<ExecutorKinds> manners{find_executor_kinds(problem, placement, costs)};
  ExecutorKinds leveled = find_executor_kinds(problem, placement, level_alike_slots(problem, costs));
  if (leveled.size() < manners[0].size()) manners.push_back(std::move(leveled));
  return manners;
}

/// Cuts where times say, and again where they were wrong.
class StagePlanner {
 public:
  StagePlanner(const PlanningProblem& problem, const ChosenPlan& chosen, const StageDemand& demand,
               const PlanTools& tools)
      : problem_(problem),
        chosen_(chosen),
        demand_(demand),
        tools_(tools),
        parts_(find_part_times(problem, chosen, tools)),
        as_timed_(list_manners(problem, chosen.plan.placement, parts_.costs)),
        corrected_(as_timed_) {}

  Result<StagedPlan> plan() {
    const std::vector<StageOffer> offers = TRY(make_offers(demand_.count));
    if (offers.empty()) return fail("--objective throughput: no executor can run the whole model or a part");
    StagedPlan staged = TRY(pursue(find_best_offer(offers)));
    if (const StageOffer* whole = find_best_whole(offers); whole != nullptr && staged.stages.size() > 1) {
      StagedPlan other = TRY(pursue(*whole));
      const auto interval = [](const StagedPlan& plan) {
        return StageReport::interval(plan.stages, &ChosenStage::measured);
      };
      if (interval(other) <= interval(staged) && interval(other) != never) staged = std::move(other);
    }
    staged.report.guessed_reason = parts_.guessed_reason;
    for (const StageOffer& offer : offers)
      staged.report.compared.push_back({describe_offer(problem_, offer), std::llround(offer.max_load)});
    return staged;
  }

 private:
  Result<std::vector<StageOffer>> make_offers(std::optional<uint32_t> count) const {
    const auto has_replicas = [](const OfferedStage& stage) { return stage.group.replicas > 1; };
    std::vector<StageOffer> offers;
    for (size_t manner = 0; manner < corrected_.size(); ++manner) {
      for (StageOffer& offer :
           TRY(offer_stages(problem_, chosen_.plan.placement, parts_.costs, corrected_[manner], count))) {
        if (manner > 0 && std::ranges::none_of(offer.stages, has_replicas)) continue;
        offer.manner = manner;
        offers.push_back(std::move(offer));
      }
    }
    return offers;
  }

  Result<StagedPlan> realize(const StageOffer& offer) const {
    Placement placement = chosen_.plan.placement;
    placement.stage.resize(placement.target.size());
    std::vector<ChosenStage> stages;
    for (const OfferedStage& offered : offer.stages) {
      for (uint32_t segment : offered.segments)
        for (NodeId node : parts_.costs.segments[segment])
          placement.stage[index(node)] = static_cast<uint32_t>(stages.size());
      ChosenStage& stage = stages.emplace_back(ChosenStage{offered.slots[0], {}});
      for (uint32_t slot : offered.slots) stage.executors.push_back(problem_.slots[slot].device);
    }
    return place_and_time(problem_, std::move(placement), parts_.costs.segments, as_timed_[offer.manner],
                          std::move(stages), tools_);
  }

  /// The offer of one stage, if there is one: stages are measured against it.
  static const StageOffer* find_best_whole(const std::vector<StageOffer>& offers) {
    const StageOffer* best = nullptr;
    for (const StageOffer& offer : offers) {
      if (offer.stages.size() > 1) continue;
      if (best == nullptr || offer.max_load < best->max_load) best = &offer;
    }
    return best;
  }

  /// The plan of the offer, or of one like it with other cuts.
  Result<StagedPlan> pursue(StageOffer offer) {
    corrected_ = as_timed_;
    StagedPlan staged = TRY(realize(offer));
    TRY(nudge(offer, staged));
    staged.report.chosen = describe_offer(problem_, offer);
    staged.report.lower_bound = std::llround(offer.lower_bound);
    return staged;
  }

  /// What the stage takes by the times as they were measured first.
  double time_of(const OfferedStage& stage, size_t manner) const {
    const ExecutorKind& kind = kind_of_slot(as_timed_[manner], stage.slots[0]);
    double sum = 0;
    for (uint32_t segment : stage.segments) sum += kind.times[segment];
    return sum;
  }

  /// Times of segments become those that their stages were measured to take.
  void correct(const StageOffer& offer, const StagedPlan& staged) {
    corrected_ = as_timed_;
    for (size_t stage = 0; stage < staged.stages.size(); ++stage) {
      const double before = std::max(time_of(offer.stages[stage], offer.manner), 1.0);
      const double factor = static_cast<double>(*staged.stages[stage].measured) / before;
      for (ExecutorKinds& kinds : corrected_)
        for (ExecutorKind& kind : kinds)
          for (uint32_t segment : offer.stages[stage].segments) kind.times[segment] *= factor;
    }
  }

  /// By the corrected times, with what its devices pay for transfers.
  static void predict(const StageOffer& offer, StagedPlan& staged) {
    for (size_t stage = 0; stage < staged.stages.size(); ++stage)
      staged.stages[stage].predicted =
          std::llround(offer.stages[stage].load * offer.stages[stage].group.replicas);
  }

  /// The offer and its plan become better ones, if there are.
  Status nudge(StageOffer& best_offer, StagedPlan& best) {
    constexpr int rounds = 2;
    constexpr double worthwhile = 0.01;
    const auto is_timed = [](const ChosenStage& stage) { return stage.measured.has_value(); };
    StageOffer offer = best_offer;
    StagedPlan latest = best;
    for (int round = 0; round < rounds && latest.stages.size() > 1; ++round) {
      if (!std::ranges::all_of(latest.stages, is_timed)) return {};
      correct(offer, latest);
      const Result<std::vector<StageOffer>> offers = make_offers(static_cast<uint32_t>(latest.stages.size()));
      if (!offers) return {};
      offer = find_best_offer(*offers);
      StagedPlan moved = TRY(realize(offer));
      if (moved.plan.placement.stage == latest.plan.placement.stage) return {};
      predict(offer, moved);
      const auto now = StageReport::interval(moved.stages, &ChosenStage::measured);
      const auto before = StageReport::interval(best.stages, &ChosenStage::measured);
      latest = moved;
      if (static_cast<double>(now) >= (1 - worthwhile) * static_cast<double>(before)) continue;
      moved.report.nudged = round + 1;
      best_offer = offer;
      best = std::move(moved);
    }
    return {};
  }

  const PlanningProblem& problem_;
  const ChosenPlan& chosen_;
  const StageDemand& demand_;
  const PlanTools& tools_;
  const PartTimes parts_;
  const std::vector<ExecutorKinds> as_timed_;  // by manner
  std::vector<ExecutorKinds> corrected_;
};

/// As of any plan that ships.
std::vector<AlternativePlan> find_undivided_alternatives(const PlanningProblem& problem,
                                                         const ChosenPlan& chosen, const Plan& staged,
                                                         const PlanTools& tools) {
  Plan whole = staged;
  whole.placement.stage.clear();
  MemoryFitter fitter{problem, tools.memory, tools.replan};
  const auto replan = [&](Placement placement) -> Result<Plan> {
    Plan plan = TRY(tools.replan(std::move(placement)));
    if (!TRY(fitter.fits(plan))) return fail("it needs more memory than it may");
    return plan;
  };
  std::map<std::string, int64_t> known;
  for (const AlternativePlan& other : chosen.alternatives)
    if (other.measured) known[identify_plan(problem, other.plan.partition)] = *other.measured;
  return find_alternatives(problem, whole, tools.also, replan, known);
}

}  // namespace

int64_t StageReport::interval(const std::vector<ChosenStage>& stages,
                              std::optional<int64_t> ChosenStage::* time) {
  int64_t longest = 0;
  for (const ChosenStage& stage : stages) {
    if (!(stage.*time)) return never;
    longest = std::max(longest, *(stage.*time) / static_cast<int64_t>(stage.executors.size()));
  }
  return longest;
}

Result<StagedPlan> choose_stages(const PlanningProblem& problem, const ChosenPlan& chosen,
                                 const StageDemand& demand, const PlanTools& tools) {
  if (problem.graph.nodes.empty())
    return fail("--objective throughput: the model has no operator left to divide; leave the option out");
  StagedPlan staged = TRY(demand.cuts.empty() ? StagePlanner(problem, chosen, demand, tools).plan()
                                              : cut_by_hand(problem, chosen, demand, tools));
  staged.alternatives = find_undivided_alternatives(problem, chosen, staged.plan, tools);
  return staged;
}

}  // namespace intarsia
