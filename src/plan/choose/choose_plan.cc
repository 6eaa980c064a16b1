#include "plan/choose/choose_plan.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "plan/choose/fit_memory.h"
#include "plan/costs/price_segments.h"
#include "plan/partition/describe_plan.h"
#include "plan/place/mix_backends.h"
#include "plan/place/plan_candidates.h"

namespace intarsia {
namespace {

using Shipped = PlanReport::Shipped;

/// Share of another plan's time that a plan must save to ship instead.
namespace gain {
constexpr double tie = 0.005;  // differences of whole runs below this are noise
/// Mixtures are chosen for times that may have been good by chance.
constexpr double of_mixture = 0.02;
constexpr double promised = 0.04;  // promise of a mixture worth its compile: few keep all of it
/// Users have to install what the program needs, and every version of that is another program.
constexpr double over_self_contained = 0.03;
constexpr double while_disturbed = 0.25;  // times of a busy machine show large differences only
}  // namespace gain

/// Plan that may ship.
struct Candidate {
  Plan plan;
  Shipped kind = Shipped::as_placed;
  uint32_t single = 0;     // target that runs everything, for single_backend and moves_all
  int dissolved = 0;       // regions that another backend runs instead
  bool moves_all = false;  // whether all nodes move that may
  int64_t nanoseconds = never;
  std::optional<int64_t> predicted;  // predicted nanoseconds of a mixture
};

/// Candidates to choose from, in order of preference, the plan as placed first.
struct Choice {
  const PlanningProblem& problem;
  const PlanTools& tools;
  MemoryFitter fitter{problem, tools.memory, tools.replan};
  std::vector<Candidate> candidates = {};
  std::optional<SegmentCosts> costs = {};  // set once the candidates are timed

  const Plan& placed() const { return candidates[0].plan; }
  std::string name_of(uint32_t target) const { return runner_name(problem, target); }
};

std::string milliseconds(int64_t nanoseconds) {
  return fmt::format("{:.3g} ms", static_cast<double>(nanoseconds) / 1e6);
}

/// Adds the candidate with the plan. Returns false if it runs the same as another.
bool add_plan(Choice& choice, Candidate candidate, Plan plan) {
  candidate.plan = std::move(plan);
  const auto identify = [&](const Candidate& any) {
    return identify_plan(choice.problem, any.plan.partition);
  };
  const auto same = std::ranges::find(choice.candidates, identify(candidate), identify);
  if (same == choice.candidates.end()) {
    choice.candidates.push_back(std::move(candidate));
    return true;
  }
  if (same != choice.candidates.begin() && candidate.kind == Shipped::single_backend) {
    same->kind = candidate.kind;  // reasons of the other say more
    same->single = candidate.single;
  }
  return false;
}

/// Adds the candidate with regions and steps for its placement. Returns false if it can have none, needs more
/// memory than it may, or runs the same as another.
bool add_candidate(Choice& choice, Candidate candidate, Placement placement) {
  Result<Plan> plan = choice.tools.replan(std::move(placement));
  if (!plan || !choice.fitter.fits(*plan).value_or(false)) return false;
  return add_plan(choice, std::move(candidate), std::move(*plan));
}

/// Adds plans with as much of what `all` has on the target as fits in memory there: one with the first part
/// that pays, then ones with what is left. So what can be there is compared, and the times of all parts
/// become known.
void add_parts(Choice& choice, Placement all, uint32_t target) {
  constexpr int most = 4;  // plans to compile and time
  const Placement placed = choice.placed().placement;
  for (int part = 0; part < most; ++part) {
    Result<Plan> plan = choice.tools.replan(all);
    if (!plan) return;
    if (!choice.fitter.fits(*plan).value_or(false)) {
      std::vector<Plan> fitting = choice.fitter.find(all, std::nullopt, 1);
      if (fitting.empty()) return;
      plan = std::move(fitting[0]);
    }
    size_t moved = 0;
    for (size_t i = 0; i < placed.nodes.size(); ++i) {
      if (plan->placement.nodes[i].target != target || placed.nodes[i].target == target) continue;
      all.nodes[i].target = placed.nodes[i].target;
      ++moved;
    }
    if (moved == 0) return;
    add_plan(choice, {.kind = Shipped::mixed}, std::move(*plan));
  }
}

/// Adds the plan without the native regions that the framework runs faster.
Status add_dissolved(Choice& choice) {
  const Plan& placed = choice.placed();
  const std::vector<NativeRegion> native_regions = find_native_regions(choice.problem, placed);
  if (native_regions.empty()) return {};
  const Plan apart = hand_over_native_regions(placed, native_regions);
  const std::vector<std::vector<int64_t>> times = TRY(choice.tools.timer->time_regions({&placed, &apart}));
  const std::vector<BoundaryPrice> boundaries = choice.tools.price_boundaries();
  Candidate candidate{.kind = Shipped::dissolved};
  Placement placement = placed.placement;
  for (const NativeRegion& native : native_regions) {
    const int64_t ours = times[0][native.region], theirs = times[1][native.region];
    if (ours <= theirs - boundaries[native.framework].call) continue;
    ++candidate.dissolved;
    for (NodeId node : placed.partition.regions[native.region].nodes) {
      placement[node].target = native.framework;
      placement[node].reason = fmt::format("dissolved: {} natively, {} in {}", milliseconds(ours),
                                           milliseconds(theirs), choice.name_of(native.framework));
    }
  }
  if (candidate.dissolved > 0) add_candidate(choice, std::move(candidate), std::move(placement));
  return {};
}

/// Adds the plan with everything on the target or, where pins keep some nodes elsewhere, everything else.
void add_single(Choice& choice, uint32_t single) {
  const Plan& placed = choice.placed();
  std::optional<Placement> placement = place_all_on(choice.problem, placed.placement, single);
  if (!placement) return;
  const bool alone =
      std::ranges::all_of(placement->nodes, [&](const PlacedNode& node) { return node.target == single; });
  Candidate candidate{
      .kind = alone ? Shipped::single_backend : Shipped::dissolved, .single = single, .moves_all = true};
  for (const Region& region : placed.partition.regions) {
    const uint32_t now = (*placement)[region.nodes[0]].target;
    candidate.dissolved += region.target != now && now == single;
  }
  const Result<Plan> plan = choice.tools.replan(*placement);
  if (plan && !choice.fitter.fits(*plan).value_or(true))
    return add_parts(choice, std::move(*placement), single);
  add_candidate(choice, std::move(candidate), std::move(*placement));
}

Status time_candidates(Choice& choice) {
  std::vector<const Plan*> plans;
  for (const Candidate& candidate : choice.candidates) plans.push_back(&candidate.plan);
  const std::vector<int64_t> times = TRY(choice.tools.timer->time_runs(plans));
  for (size_t i = 0; i < times.size(); ++i) choice.candidates[i].nanoseconds = times[i];
  return {};
}

/// Returns the times of segments in the candidates that ran.
Result<SegmentCosts> price_candidates(const Choice& choice) {
  std::vector<const Plan*> plans;
  for (const Candidate& candidate : choice.candidates) {
    if (candidate.nanoseconds != never) plans.push_back(&candidate.plan);
  }
  SegmentCosts costs = TRY(price_segments(choice.problem, plans, choice.placed().placement,
                                          *choice.tools.timer, choice.tools.time_link));
  costs.boundaries = choice.tools.price_boundaries();
  return costs;
}

/// Returns the plan's backends whose libraries it cannot run without.
std::set<std::string> libraries_of(const PlanningProblem& problem, const Plan& plan) {
  std::set<std::string> libraries;
  for (const Region& region : plan.partition.regions) {
    const TargetInfo& info = problem.targets[region.target].backend->info();
    if (info.needs_framework) libraries.insert(info.name);
  }
  return libraries;
}

/// Returns the gain that the candidate needs to ship instead of the other.
double gain_wanted(const Choice& choice, const Candidate& candidate, const Candidate& other, Prefer prefer) {
  if (choice.tools.timer->was_disturbed()) return gain::while_disturbed;
  const double least = candidate.kind == Shipped::mixed ? gain::of_mixture : gain::tie;
  const bool needs_more = !std::ranges::includes(libraries_of(choice.problem, other.plan),
                                                 libraries_of(choice.problem, candidate.plan));
  return prefer == Prefer::self_contained && needs_more ? gain::over_self_contained : least;
}

const Candidate& find_best(const Choice& choice, Prefer prefer) {
  const Candidate* best = &choice.candidates[0];
  for (const Candidate& candidate : choice.candidates) {
    const double share = 1 - gain_wanted(choice, candidate, *best, prefer);
    if (static_cast<double>(candidate.nanoseconds) < share * static_cast<double>(best->nanoseconds))
      best = &candidate;
  }
  return *best;
}

/// Way to place segments by cost, and to predict the time of a placement.
struct Mixing {
  using Mix = std::optional<MixedPlacement>(const PlanningProblem& problem, const Placement& placed,
                                            const SegmentCosts& costs);
  using Predict = int64_t(const PlanningProblem& problem, const Placement& placement,
                          const SegmentCosts& costs);
  Mix& mix;
  Predict& predict;
};

SegmentCosts raise_boundaries(SegmentCosts costs, int factor) {
  for (BoundaryPrice& price : costs.boundaries) {
    price.call *= factor;
    price.per_byte *= factor;
  }
  return costs;
}

/// Returns the mixture or, where it exceeds a memory limit, the cheapest similar one that fits; nullopt if
/// there is none.
std::optional<MixedPlacement> keep_limits(Choice& choice, MixedPlacement mixed, const SegmentCosts& costs,
                                          const Mixing& mixing) {
  const Result<Plan> plan = choice.tools.replan(mixed.placement);
  if (!plan || choice.fitter.fits(*plan).value_or(false)) return mixed;
  const std::vector<Plan> fitting = choice.fitter.find(mixed.placement, costs, 1);
  if (fitting.empty()) return std::nullopt;
  mixed.placement = fitting[0].placement;
  mixed.predicted = mixing.predict(choice.problem, mixed.placement, costs);
  return mixed;
}

/// Adds mixtures of the candidates, priced by their parts, while one promises to be worth its compile. Where
/// one is slower than predicted, the next is made at the prices that its parts had in it or, where these were
/// right, at higher prices of boundaries.
Status add_mixtures(Choice& choice, const Mixing& mixing) {
  constexpr int rounds = 3, steeper = 4;
  constexpr double error = 0.05;
  int steepness = 1;
  for (int round = 0; round < rounds; ++round) {
    const SegmentCosts costs = raise_boundaries(*choice.costs, steepness);
    std::optional<MixedPlacement> mixed = mixing.mix(choice.problem, choice.placed().placement, costs);
    const double enough =
        (1 - gain::promised) * static_cast<double>(find_best(choice, choice.tools.prefer).nanoseconds);
    const auto is_worth_it = [&] { return mixed && static_cast<double>(mixed->predicted) <= enough; };
    if (is_worth_it()) mixed = keep_limits(choice, std::move(*mixed), costs, mixing);
    if (!is_worth_it()) return {};
    Candidate candidate{.kind = Shipped::mixed, .predicted = mixed->predicted};
    if (!add_candidate(choice, std::move(candidate), std::move(mixed->placement))) return {};
    TRY(time_candidates(choice));
    Candidate& tried = choice.candidates.back();
    const auto is_as_predicted =
        static_cast<double>(tried.nanoseconds) < (1 + error) * static_cast<double>(mixed->predicted);
    if (is_as_predicted) return {};
    if (correct_prices(choice.problem, tried.plan, *choice.tools.timer, *choice.costs)) {
      tried.predicted =
          mixing.predict(choice.problem, tried.plan.placement, raise_boundaries(*choice.costs, steepness));
      continue;
    }
    steepness *= steeper;
  }
  return {};
}

/// Adds mixtures whose parts run in turn and, where there are several executors, side by side.
Status add_all_mixtures(Choice& choice) {
  choice.costs = TRY(price_candidates(choice));
  TRY(add_mixtures(choice, {mix_backends, price_placement}));
  return choice.problem.slots.size() > 1 ? add_mixtures(choice, {schedule_executors, price_schedule})
                                         : Status();
}

/// Returns the names of the candidate's backends: "halide+onnxruntime".
std::string runners_text(const Choice& choice, const Candidate& candidate) {
  return fmt::format("{}", fmt::join(runners_of(choice.problem, candidate.plan.partition), "+"));
}

PlanReport report_choice(const Choice& choice, const Candidate& chosen) {
  PlanReport report{.shipped = chosen.kind};
  const auto known = [](int64_t time) { return time == never ? std::nullopt : std::optional(time); };
  report.measured = known(chosen.nanoseconds);
  report.as_placed = known(choice.candidates[0].nanoseconds);
  if (chosen.kind != Shipped::as_placed) report.dissolved = chosen.dissolved;
  report.predicted = chosen.predicted;
  if (chosen.kind == Shipped::single_backend) report.single = choice.name_of(chosen.single);
  report.is_unsure = choice.tools.timer->was_disturbed();
  if (const Candidate& fastest = find_best(choice, Prefer::fastest); &fastest != &chosen)
    report.passed_over = {runners_text(choice, fastest), fastest.nanoseconds};
  for (const Candidate& candidate : choice.candidates) {
    const std::set<std::string> runners = runners_of(choice.problem, candidate.plan.partition);
    if (candidate.nanoseconds != never && runners.size() == 1)
      report.single_backend[*runners.begin()] = candidate.nanoseconds;
    if (candidate.nanoseconds == never)
      report.faults[runners_text(choice, candidate)] = choice.tools.timer->fault_of(candidate.plan);
  }
  return report;
}

/// Sets the reasons of the nodes that moved because all did.
void explain_all(const Choice& choice, const Candidate& chosen, Placement& placement) {
  const char* what = chosen.kind == Shipped::single_backend ? "all" : "all that is not pinned elsewhere";
  for (size_t i = 0; i < placement.nodes.size(); ++i) {
    if (placement.nodes[i].target == choice.placed().placement.nodes[i].target) continue;
    const int64_t as_placed = choice.candidates[0].nanoseconds;
    placement.nodes[i].reason = fmt::format(
        "{} in {}: {}, as placed {}", what, choice.name_of(chosen.single), milliseconds(chosen.nanoseconds),
        as_placed == never ? choice.tools.timer->fault_of(choice.placed()) : milliseconds(as_placed));
  }
}

/// Compares the plans; returns nullopt if only one is possible. Error: nothing could be measured.
Result<std::optional<PlanReport>> compare(Choice& choice, Plan& shipped) {
  TRY(add_dissolved(choice));
  for (uint32_t target : rivals_of(choice.problem, choice.placed().partition)) add_single(choice, target);
  if (choice.candidates.size() == 1 && !can_work_side_by_side(choice.problem, choice.placed())) {
    if (runners_of(choice.problem, choice.placed().partition).size() == 1) return std::nullopt;
    return PlanReport{.disabled_reason = "no backend takes nodes of another"};
  }
  TRY(time_candidates(choice));
  const Status mixed = add_all_mixtures(choice);
  const Candidate& best = find_best(choice, choice.tools.prefer);
  shipped = best.plan;
  if (best.moves_all) explain_all(choice, best, shipped.placement);
  PlanReport report = report_choice(choice, best);
  if (!mixed) report.notes.push_back(fmt::format("parts of plans were not mixed: {}", mixed.error().message));
  return report;
}

std::optional<PlanReport> report_comparison(Choice& choice, Plan& shipped) {
  const PlanTools& tools = choice.tools;
  if (!tools.disabled_reason.empty()) {
    if (runners_of(choice.problem, shipped.partition).size() <= 1) return std::nullopt;
    return PlanReport{.disabled_reason = tools.disabled_reason};
  }
  Result<std::optional<PlanReport>> report = compare(choice, shipped);
  if (!report) report = PlanReport{.disabled_reason = report.error().message};
  if (!*report) return std::nullopt;
  (*report)->regions_measured = tools.timer->regions_measured();
  (*report)->regions_remembered = tools.timer->regions_remembered();
  return *report;
}

/// Returns the times of the candidates that were timed, by identity; `never` for those that cannot ship.
std::map<std::string, int64_t> known_times(const Choice& choice) {
  std::map<std::string, int64_t> times;
  for (const Candidate& candidate : choice.candidates) {
    const bool is_known =
        candidate.nanoseconds != never ||
        (choice.tools.timer != nullptr && !choice.tools.timer->fault_of(candidate.plan).empty());
    if (is_known) times[identify_plan(choice.problem, candidate.plan.partition)] = candidate.nanoseconds;
  }
  return times;
}

/// Adds the plan as placed or, where it needs too much memory, plans that do not, the cheapest first.
Status add_placed(Choice& choice, Plan placed) {
  constexpr size_t most = 3;  // plans to compile and time
  if (TRY(choice.fitter.fits(placed))) {
    choice.candidates.push_back({.plan = std::move(placed)});
    return {};
  }
  const bool is_kept = choice.tools.is_placement_kept;
  if (!is_kept) {
    for (Plan& plan : choice.fitter.find(placed.placement, std::nullopt, most)) {
      const Shipped kind = choice.candidates.empty() ? Shipped::as_placed : Shipped::mixed;
      choice.candidates.push_back({.plan = std::move(plan), .kind = kind});
    }
  }
  if (choice.candidates.empty()) return tl::unexpected(choice.fitter.explain_failure(placed, is_kept));
  return {};
}

/// Returns a function that makes plans which keep the limits.
Replan limit_replan(Choice& choice) {
  return [&choice](Placement placement) -> Result<Plan> {
    Plan plan = TRY(choice.tools.replan(std::move(placement)));
    if (!TRY(choice.fitter.fits(plan))) return fail("it needs more memory than it may");
    return plan;
  };
}

}  // namespace

Result<ChosenPlan> choose_plan(const PlanningProblem& problem, Plan placed, const PlanTools& tools) {
  Choice choice{problem, tools};
  TRY(add_placed(choice, std::move(placed)));
  ChosenPlan chosen{.plan = choice.placed(), .report = std::nullopt};
  chosen.report = report_comparison(choice, chosen.plan);
  if (chosen.report) chosen.measured = chosen.report->measured;
  if (chosen.report) chosen.predicted = chosen.report->predicted;
  chosen.costs = std::move(choice.costs);
  chosen.alternatives = find_alternatives(problem, chosen.plan, {tools.also, tools.only_also},
                                          limit_replan(choice), known_times(choice));
  return chosen;
}

}  // namespace intarsia
