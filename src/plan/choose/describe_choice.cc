#include "plan/choose/describe_choice.h"

#include "plan/partition/describe_plan.h"

namespace intarsia {

std::string describe_choice(const PlanningProblem& problem, const ChosenPlan& chosen) {
  std::string text = describe_partition(problem, chosen.plan.partition) +
                     describe_steps(problem, chosen.plan.partition, chosen.plan.steps);
  if (!chosen.report) return text + "no other plan is possible\n";
  const PlanReport& report = *chosen.report;
  if (!report.disabled_reason.empty())
    return text + fmt::format("not compared with others: {}\n", report.disabled_reason);
  const auto add = [&](const std::string& name, std::optional<int64_t> time) {
    if (time) text += fmt::format("{}: {} ns\n", name, *time);
  };
  add("as placed", report.as_placed);
  for (const auto& [backend, time] : report.single_backend) add("all in " + backend, time);
  for (const auto& [backends, fault] : report.faults)
    text += fmt::format("{} cannot ship: {}\n", backends, fault);
  add("ships", chosen.measured);
  add("predicted", chosen.predicted);
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  return text;
}

}  // namespace intarsia
