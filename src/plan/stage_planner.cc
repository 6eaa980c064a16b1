#include "plan/stage_planner.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "plan/time_stages.h"

namespace intarsia {
namespace {

/// Manners of what runs on which slot: everything as fast as it can be; and, where then slots are unlike that
/// need not be, as slots that take each other's frames.
std::vector<ExecutorKinds> list_manners(const PlanningProblem& problem, const Placement& placement,
                                        const SegmentCosts& costs) {
  std::vector<ExecutorKinds> manners{find_executor_kinds(problem, placement, costs)};
  ExecutorKinds leveled = find_executor_kinds(problem, placement, level_alike_slots(problem, costs));
  if (leveled.size() < manners[0].size()) manners.push_back(std::move(leveled));
  return manners;
}

/// The offer of one stage, if there is one: stages are measured against it.
const StageOffer* find_best_whole(const std::vector<StageOffer>& offers) {
  const StageOffer* best = nullptr;
  for (const StageOffer& offer : offers) {
    if (offer.stages.size() > 1) continue;
    if (best == nullptr || offer.max_load < best->max_load) best = &offer;
  }
  return best;
}

/// By the corrected times, with what its devices pay for transfers.
void predict(const StageOffer& offer, StagedPlan& staged) {
  for (size_t stage = 0; stage < staged.stages.size(); ++stage)
    staged.stages[stage].predicted =
        std::llround(offer.stages[stage].load * offer.stages[stage].group.replicas);
}

int64_t measured_interval(const StagedPlan& plan) {
  return StageReport::interval(plan.stages, &ChosenStage::measured);
}

bool are_same(const StagedPlan& one, const StagedPlan& other) {
  return one.plan.placement.stage == other.plan.placement.stage &&
         std::ranges::equal(one.stages, other.stages, {}, &ChosenStage::executors, &ChosenStage::executors);
}

}  // namespace

StagePlanner::StagePlanner(const PlanningProblem& problem, const Placement& placed, const SegmentCosts& costs,
                           const PlanTools& tools)
    : problem_(problem),
      placed_(placed),
      costs_(costs),
      tools_(tools),
      as_timed_(list_manners(problem, placed, costs)),
      corrected_(as_timed_),
      may_hold_(problem.spaces.size(), cannot_run) {}

Result<StagedPlan> StagePlanner::plan(std::optional<uint32_t> count) {
  constexpr int most_rounds = 6;
  StagedPlan staged = TRY(plan_once(count));
  for (int round = 0; round < most_rounds && TRY(hold_less(staged.plan)); ++round) {
    Result<StagedPlan> smaller = plan_once(count);
    if (!smaller) return staged;
    staged = std::move(*smaller);
  }
  return staged;
}

/// What a plan needs of a memory is known once it is made: values share buffers, kernels have workspaces.
/// Where it is too much, stages may hold as much less. False: the plan keeps all limits.
Result<bool> StagePlanner::hold_less(const Plan& plan) {
  if (!tools_.memory.measure) return false;
  const std::vector<MemoryUse> uses = TRY(tools_.memory.measure(plan));
  bool is_too_much = false;
  for (uint32_t space = 0; space < may_hold_.size(); ++space) {
    const uint64_t limit = problem_.memory_limit(space), used = uses[space].total();
    if (used <= limit) continue;
    is_too_much = true;
    std::vector<NodeId> there;
    for (uint32_t i = 0; i < plan.placement.target.size(); ++i)
      if (problem_.space_of_target[plan.placement.target[i]] == space) there.push_back(NodeId{i});
    may_hold_[space] =
        held_bytes(problem_.graph, there) * static_cast<double>(limit) / static_cast<double>(used);
  }
  return is_too_much;
}

Result<StagedPlan> StagePlanner::plan_once(std::optional<uint32_t> count) {
  corrected_ = as_timed_;
  const std::vector<StageOffer> offers = TRY(make_offers(count));
  if (offers.empty()) return fail("--objective throughput: no executor can run the whole model or a part");
  StagedPlan staged = TRY(pursue(find_best_offer(offers), count));
  if (const StageOffer* whole = find_best_whole(offers); whole != nullptr && staged.stages.size() > 1) {
    StagedPlan other = TRY(pursue(*whole, count));
    if (measured_interval(other) <= measured_interval(staged) && measured_interval(other) != never)
      staged = std::move(other);
  }
  for (const StageOffer& offer : offers)
    staged.report.compared.push_back({describe_offer(problem_, offer), std::llround(offer.max_load)});
  return staged;
}

Result<std::vector<StageOffer>> StagePlanner::make_offers(std::optional<uint32_t> count) const {
  const auto has_replicas = [](const OfferedStage& stage) { return stage.group.replicas > 1; };
  std::vector<StageOffer> offers;
  for (size_t manner = 0; manner < corrected_.size(); ++manner) {
    for (StageOffer& offer :
         TRY(offer_stages(problem_, placed_, costs_, corrected_[manner], may_hold_, count))) {
      if (manner > 0 && std::ranges::none_of(offer.stages, has_replicas)) continue;
      offer.manner = manner;
      offers.push_back(std::move(offer));
    }
  }
  return offers;
}

Result<StagedPlan> StagePlanner::realize(const StageOffer& offer) const {
  Placement placement = placed_;
  placement.stage.resize(placement.target.size());
  std::vector<ChosenStage> stages;
  for (const OfferedStage& offered : offer.stages) {
    for (uint32_t segment : offered.segments)
      for (NodeId node : costs_.segments[segment])
        placement.stage[index(node)] = static_cast<uint32_t>(stages.size());
    ChosenStage& stage = stages.emplace_back(ChosenStage{offered.slots[0], {}});
    for (uint32_t slot : offered.slots) stage.executors.push_back(problem_.slots[slot].device);
  }
  return place_and_time(problem_, std::move(placement), costs_.segments, as_timed_[offer.manner],
                        std::move(stages), tools_);
}

/// The plan of the offer, or of a better one.
Result<StagedPlan> StagePlanner::pursue(StageOffer offer, std::optional<uint32_t> count) {
  corrected_ = as_timed_;
  StagedPlan staged = TRY(realize(offer));
  TRY(nudge(count, offer, staged));
  staged.report.chosen = describe_offer(problem_, offer);
  staged.report.lower_bound = std::llround(offer.lower_bound);
  return staged;
}

/// What the stage takes by the times as they were measured first.
double StagePlanner::time_of(const OfferedStage& stage, size_t manner) const {
  const ExecutorKind& kind = kind_of_slot(as_timed_[manner], stage.slots[0]);
  double sum = 0;
  for (uint32_t segment : stage.segments) sum += kind.times[segment];
  return sum;
}

/// Times of segments become what their stages took on devices of that kind; those of other segments there
/// change as all its stages' did.
void StagePlanner::correct(const StageOffer& offer, const StagedPlan& staged) {
  corrected_ = as_timed_;
  std::map<std::string, double> predicted, measured;  // by kind of device
  std::map<std::string, std::map<uint32_t, double>> factors;
  for (size_t i = 0; i < staged.stages.size(); ++i) {
    const OfferedStage& stage = offer.stages[i];
    const std::string& device = problem_.slots[stage.slots[0]].kind;
    const double before = std::max(time_of(stage, offer.manner), 1.0);
    const auto now = static_cast<double>(*staged.stages[i].measured);
    predicted[device] += before;
    measured[device] += now;
    for (uint32_t segment : stage.segments) factors[device][segment] = now / before;
  }
  for (ExecutorKinds& kinds : corrected_) {
    for (ExecutorKind& kind : kinds) {
      const std::string& device = problem_.slots[kind.slots[0]].kind;
      if (!predicted.contains(device)) continue;
      for (uint32_t segment = 0; segment < kind.times.size(); ++segment) {
        const auto known = factors[device].find(segment);
        kind.times[segment] *=
            known != factors[device].end() ? known->second : measured[device] / predicted[device];
      }
    }
  }
}

/// The offer and its plan become better ones, if there are.
Status StagePlanner::nudge(std::optional<uint32_t> count, StageOffer& best_offer, StagedPlan& best) {
  constexpr int rounds = 2;
  constexpr double worthwhile = 0.01;
  const auto is_timed = [](const ChosenStage& stage) { return stage.measured.has_value(); };
  StageOffer offer = best_offer;
  StagedPlan latest = best;
  for (int round = 0; round < rounds && latest.stages.size() > 1; ++round) {
    if (!std::ranges::all_of(latest.stages, is_timed)) return {};
    correct(offer, latest);
    const Result<std::vector<StageOffer>> offers = make_offers(count);
    if (!offers) return {};
    offer = find_best_offer(*offers);
    StagedPlan moved = TRY(realize(offer));
    if (are_same(moved, latest)) return {};
    predict(offer, moved);
    const double now = static_cast<double>(measured_interval(moved));
    latest = moved;
    if (now >= (1 - worthwhile) * static_cast<double>(measured_interval(best))) continue;
    moved.report.nudged = round + 1;
    best_offer = offer;
    best = std::move(moved);
  }
  return {};
}

}  // namespace intarsia
