#include "compile/specialize_function.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "plan/choose/planning_sizes.h"
#include "plan/choose/size_ranges.h"
#include "plan/partition/describe_plan.h"
#include "plan/place/plan_candidates.h"

namespace intarsia {
namespace {

/// Share of the first plan's time that another one must save: its code and constants take room, too.
constexpr double gain = 0.05;
constexpr double gain_while_disturbed = 0.25;

bool may_specialize(const FunctionPlanning& planning) {
  const bool is_limited = planning.tools->get().memory.measure != nullptr;
  const ChosenPlan& chosen = planning.function.chosen;
  return !planning.given && chosen.report && chosen.report->disabled_reason.empty() &&
         chosen.stages.empty() && !is_limited && !planning.request.prefers_size;
}

double milliseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

/// Returns the times of the plans that were compared: "with batch = 32: halide 61 ms, onnxruntime 78 ms".
std::string describe_times(const PlanningProblem& problem, const ChosenPlan& chosen) {
  std::vector<std::string> times;
  for (const auto& [backend, nanoseconds] : chosen.report->single_backend)
    times.push_back(fmt::format("{} {:.3g} ms", backend, milliseconds(nanoseconds)));
  if (runners_of(problem, chosen.plan.partition).size() > 1 && chosen.measured)
    times.push_back(fmt::format("{} {:.3g} ms", fmt::join(runners_of(problem, chosen.plan.partition), "+"),
                                milliseconds(*chosen.measured)));
  return fmt::format("with {}: {}", print_planned_sizes(problem.graph), fmt::join(times, ", "));
}

/// Plans of a function, compared at several sizes.
class SizeComparison {
 public:
  explicit SizeComparison(FunctionPlanning& planning) : planning_(planning) {
    plans_.push_back(planning.function.chosen.plan);
  }

  Status compare() {
    std::vector<PlanningSizes> all = planning_sizes(planning_.graph());
    if (all.size() < 2) return {};
    at_.push_back({all[0], planning_.function.problem, nullptr, planning_.tools});
    for (size_t i = 1; i < all.size(); ++i) {
      shorten(all[0], all[i]);
      if (all[i] != all[0]) TRY(choose_at(std::move(all[i])));
    }
    if (plans_.size() > 1)
      for (At& at : at_) TRY(time_at(at));
    return {};
  }

  std::vector<SpecializedPlan> take() {
    std::vector<SpecializedPlan> specialized;
    if (plans_.size() < 2 || at_[0].times.empty()) return specialized;
    for (size_t symbol = 0; symbol < planning_.graph().open_sizes.size(); ++symbol)
      add_ranges(symbol, specialized);
    return specialized;
  }

 private:
  struct At {
    PlanningSizes sizes;
    std::shared_ptr<const PlanningProblem> problem;
    std::unique_ptr<PlanningTools> own_tools;
    PlanningTools* tools;
    std::vector<int64_t> times = {};  // by plan; empty if they could not be measured
  };

  /// Limits the ends of ranges that nobody named to what runs in a second, as the time at the first sizes
  /// predicts it.
  void shorten(const PlanningSizes& first, PlanningSizes& sizes) const {
    constexpr int64_t longest = 1'000'000'000;
    const int64_t once = std::max<int64_t>(planning_.function.chosen.measured.value_or(1), 1);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!planning_.graph().open_sizes[i].tuned.empty()) continue;
      sizes[i] = std::min(sizes[i], std::max<int64_t>(first[i], 1) * std::max<int64_t>(longest / once, 1));
    }
  }

  /// Chooses the plan that would ship if the function were planned with these sizes alone.
  Status choose_at(PlanningSizes sizes) {
    RegionCompiler& compiler = planning_.tools->compiler();
    At at{std::move(sizes), nullptr, nullptr, nullptr};
    at.problem = at_sizes(planning_.problem(), at.sizes);
    at.own_tools = std::make_unique<PlanningTools>(planning_.function.name, *at.problem, compiler,
                                                   planning_.tools->get().replan, TimeSource::measurement);
    at.tools = at.own_tools.get();
    Result<ChosenPlan> chosen = choose_plan(*at.problem, planning_.placed, at.tools->get());
    TRY(check_not_cancelled(compiler.services().observer));
    if (!chosen || !chosen->report || !chosen->report->disabled_reason.empty()) return {};
    planning_.function.notes.push_back(describe_times(*at.problem, *chosen));
    const auto identify = [&](const Plan& plan) {
      return identify_plan(planning_.problem(), plan.partition);
    };
    if (std::ranges::find(plans_, identify(chosen->plan), identify) == plans_.end())
      plans_.push_back(std::move(chosen->plan));
    at_.push_back(std::move(at));
    return {};
  }

  Status time_at(At& at) {
    std::vector<const Plan*> plans;
    for (const Plan& plan : plans_) plans.push_back(&plan);
    Result<std::vector<int64_t>> times = at.tools->get().timer->time_runs(plans);
    TRY(check_not_cancelled(planning_.tools->compiler().services().observer));
    if (times) at.times = std::move(*times);
    return {};
  }

  /// Returns the sizes that differ from the first in no other symbol, in ascending order.
  std::vector<const At*> along(size_t symbol) const {
    std::vector<const At*> found;
    for (const At& at : at_) {
      PlanningSizes sizes = at.sizes;
      sizes[symbol] = at_[0].sizes[symbol];
      if (sizes == at_[0].sizes && !at.times.empty()) found.push_back(&at);
    }
    std::ranges::sort(found, {}, [&](const At* at) { return at->sizes[symbol]; });
    return found;
  }

  void add_ranges(size_t symbol, std::vector<SpecializedPlan>& specialized) const {
    const std::vector<const At*> all = along(symbol);
    if (all.size() < 2) return;
    std::vector<TimesAtSize> points;
    for (const At* at : all) points.push_back({at->sizes[symbol], at->times});
    const bool is_disturbed =
        std::ranges::any_of(all, [](const At* at) { return at->tools->get().timer->was_disturbed(); });
    const SizeRange& range = planning_.graph().open_sizes[symbol].range;
    for (const PlanRange& one : find_plan_ranges(range, points, is_disturbed ? gain_while_disturbed : gain)) {
      const At& at = *all[one.at];
      specialized.push_back(
          {plans_[one.plan], at.problem, symbol, one.min, one.max, at.times[one.plan], at.times[0]});
    }
  }

  FunctionPlanning& planning_;
  std::vector<Plan> plans_;  // the plan that ships first
  std::vector<At> at_;       // the sizes that the function is planned with first
};

}  // namespace

Status specialize_function(FunctionPlanning& planning) {
  if (!may_specialize(planning)) return {};
  SizeComparison comparison(planning);
  TRY(comparison.compare());
  planning.function.chosen.specializations = comparison.take();
  return {};
}

Status verify_specializations(const FunctionPlanning& planning) {
  for (const SpecializedPlan& one : planning.function.chosen.specializations)
    TRY(verify_plan(planning.problem(), one.plan));
  return {};
}

std::string describe_specializations(const FunctionPlanning& planning) {
  const PlanningProblem& problem = planning.problem();
  const ChosenPlan& chosen = planning.function.chosen;
  std::string text;
  for (const SpecializedPlan& one : chosen.specializations)
    text += fmt::format("{} {} to {}: {}, {:.3g} ms with {}, {} {:.3g} ms\n",
                        problem.graph.open_sizes[one.symbol].name, one.min, one.max,
                        targets_of(problem, one.plan.partition), milliseconds(one.measured),
                        print_planned_sizes(one.problem->graph), targets_of(problem, chosen.plan.partition),
                        milliseconds(one.first_plans));
  return text;
}

}  // namespace intarsia
