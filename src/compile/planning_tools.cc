#include "compile/planning_tools.h"

#include <algorithm>

#include "compile/measure_boundaries.h"
#include "plan/costs/boundary_prices.h"

namespace intarsia {

PlanningTools::PlanningTools(const std::string& function, const PlanningProblem& problem,
                             RegionCompiler& compiler, Replan replan, TimeSource source)
    : problem_(problem), compiler_(compiler), meter_(function, compiler) {
  const CompileRequest& request = compiler.request();
  tools_.disabled_reason = why_plans_are_not_measured(compiler);
  tools_.also = request.also;
  tools_.prefer = request.prefer;
  tools_.only_also = request.prefers_size;
  tools_.replan = std::move(replan);
  if (tools_.disabled_reason.empty()) add_timer(source);
  const bool has_limit =
      std::ranges::any_of(problem.memory_limits, [](uint64_t bytes) { return bytes != no_limit; });
  if (has_limit && source == TimeSource::measurement) add_memory();
}

void PlanningTools::add_timer(TimeSource source) {
  const CompileServices& services = compiler_.services();
  MeasurePlans measure = [this](const auto& plans) { return measure_plans(plans, problem_, compiler_); };
  if (source == TimeSource::memory)
    measure = [](const auto&) -> Result<std::vector<Result<PlanTimes>>> {
      return fail("its plans were not timed on this machine, with these options; `intarsia compile` does");
    };
  timer_.emplace(
      problem_, std::move(measure), [this] { return compiler_.tuning().probe(); },
      *compiler_.tuning().costs(), plan_conditions(problem_, compiler_.request()),
      services.measuring.peak ? services.measuring.peak() : 0);
  tools_.timer = &*timer_;
  tools_.time_link = [this, source](const DeviceSlot& from, const DeviceSlot& to) -> Result<LinkCost> {
    if (const auto known = recall_link(from, to, compiler_)) return *known;
    if (source == TimeSource::memory) return fail("copies were not timed on this machine");
    return measure_link(from, to, compiler_);
  };
  tools_.price_boundaries = [this, source] { return boundaries(source); };
}

/// Measures the price of boundaries when first needed.
const std::vector<BoundaryPrice>& PlanningTools::boundaries(TimeSource source) {
  if (boundaries_.empty())
    boundaries_ =
        source == TimeSource::memory
            ? known_boundaries(compiler_.problem(), compiler_.request().threads, *compiler_.tuning().costs())
            : price_boundaries(compiler_);
  return boundaries_;
}

void PlanningTools::add_memory() {
  const auto limited = [is_plain_c = compiler_.request().plain_c.has_value()](auto uses) {
    if (uses && is_plain_c) leave_out_constants(*uses);
    return uses;
  };
  tools_.memory = {[this, limited](const Plan& plan) { return limited(meter_.measure(plan)); },
                   [this, limited](const Plan& plan) { return limited(meter_.estimate(plan)); },
                   [this](const Plan& plan, const std::vector<ChosenStage>& stages) {
                     return meter_.measure(plan, stages);
                   }};
  const CompileRequest& request = compiler_.request();
  tools_.is_placement_kept = !request.plan_path.empty() || request.keep_placement;
}

}  // namespace intarsia
