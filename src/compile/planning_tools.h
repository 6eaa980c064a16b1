// Tools that choose_plan and choose_stages get from a compile: times, memory use, plans of other placements.
#pragma once

#include "compile/measure_plans.h"
#include "compile/program_memory.h"
#include "plan/choose/choose_plan.h"

namespace intarsia {

/// Source of the times of plans.
enum class TimeSource {
  measurement,  // the table of measured times, else runs on this machine
  memory        // the table of measured times alone
};

/// Tools for plans of one problem at the sizes that it is planned with. Without a reason not to compare plans
/// there is a timer.
class PlanningTools {
 public:
  /// Refers to its arguments, which outlive it. `compiler` compiles plans to be measured.
  PlanningTools(const std::string& function, RegionCompiler& compiler, Replan replan, TimeSource source)
      : PlanningTools(function, compiler.problem(), compiler, std::move(replan), source) {}
  /// `problem`: that of the compiler, at other sizes.
  PlanningTools(const std::string& function, const PlanningProblem& problem, RegionCompiler& compiler,
                Replan replan, TimeSource source);
  PlanningTools(const PlanningTools&) = delete;
  PlanningTools& operator=(const PlanningTools&) = delete;

  const PlanTools& get() const { return tools_; }
  RegionCompiler& compiler() const { return compiler_; }

 private:
  void add_timer(TimeSource source);
  void add_memory();
  const std::vector<BoundaryPrice>& boundaries(TimeSource source);

  const PlanningProblem& problem_;
  RegionCompiler& compiler_;
  std::optional<PlanTimer> timer_;
  MemoryMeter meter_;
  PlanTools tools_;
  std::vector<BoundaryPrice> boundaries_;  // by target; empty until needed
};

}  // namespace intarsia
