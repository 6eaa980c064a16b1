// Choice of the plan that ships: the plan as placed against those of each backend alone, and against
// mixtures.
#pragma once

#include <map>

#include "plan/choose/find_alternatives.h"
#include "plan/chosen_stage.h"
#include "plan/costs/price_segments.h"
#include "plan/costs/region_costs.h"
#include "plan/memory_use.h"

namespace intarsia {

/// Preference where plans take nearly the same time.
enum class Prefer {
  self_contained,  // plan that needs fewer libraries, unless another takes 3% less time
  fastest
};

/// Outcome of choosing a plan by measurement.
struct PlanReport {
  enum class Shipped { as_placed, dissolved, single_backend, mixed };
  Shipped shipped = Shipped::as_placed;
  std::string disabled_reason;       // why plans were not compared; empty if they were
  int dissolved = 0;                 // regions of the plan as placed that another backend runs instead
  std::string single;                // backend that runs everything, when not everything was placed there
  std::optional<int64_t> measured;   // nanoseconds of the plan that ships
  std::optional<int64_t> predicted;  // nanoseconds of a mixed plan that ships, from the times of its parts
  std::optional<int64_t> as_placed;  // nanoseconds of the plan as placed
  std::map<std::string, int64_t>
      single_backend;  // nanoseconds in one backend alone, by its name; with several slots, on one target
  /// Reasons why compared plans cannot ship, by the names of their backends: a plan does not run, computes
  /// something else than the others, or was given up because loading it takes too long.
  std::map<std::string, std::string> faults;
  bool is_unsure = false;  // whether others took cores: only a much faster plan replaces the one as placed
  struct Passed {
    std::string backends;  // "halide+onnxruntime"
    int64_t nanoseconds;
  };
  std::optional<Passed> passed_over;    // faster plan, but not by enough for the libraries it needs
  int regions_measured = 0;             // regions of the compared plans that were timed for this
  int regions_remembered = 0;           // regions whose times were known
  std::vector<std::string> notes = {};  // what was not tried, and why
};

/// Tools that make and time plans.
struct PlanTools {
  std::string disabled_reason;    // why plans are not compared; empty if they are
  PlanTimer* timer = nullptr;     // null only with disabled_reason
  std::vector<std::string> also;  // slots that must suffice to run, with a plan of their own if need be
  bool only_also = false;         // whether there are no alternatives but those
  TimeLink time_link;
  std::function<std::vector<BoundaryPrice>()> price_boundaries;  // by target; set with a timer
  Replan replan;
  MemoryTools memory;              // absent if nothing is limited
  bool is_placement_kept = false;  // whether no node may move for want of memory
  Prefer prefer = Prefer::self_contained;
};

/// Plan that runs instead of the one that ships where an open size is in a range.
struct SpecializedPlan {
  Plan plan;
  std::shared_ptr<const PlanningProblem> problem;  // problem at the sizes that it was measured with
  size_t symbol = 0;                               // number of the open size
  int64_t min = 0, max = 0;
  int64_t measured = 0;     // nanoseconds of a run with the sizes of `problem`
  int64_t first_plans = 0;  // nanoseconds of the plan that ships there; `never` if it does not run
};

struct ChosenPlan {
  Plan plan;
  std::optional<PlanReport> report;  // absent when no other backend could run anything: there was no choice
  std::vector<AlternativePlan> alternatives = {};
  std::vector<SpecializedPlan> specializations = {};
  std::optional<int64_t> measured = {};   // nanoseconds of a run of the plan
  std::optional<int64_t> predicted = {};  // nanoseconds of a mixed or a given plan, from its parts
  std::vector<RegionCost> regions = {};   // costs of the plan's regions
  /// Times of parts in the plans that were compared; absent when only one plan was possible, or parts could
  /// not be timed.
  std::optional<SegmentCosts> costs = {};
  std::vector<ChosenStage> stages = {};  // stages of a pipeline; empty if the plan is not divided
};

/// Returns the fastest of: the plan as placed; the same without the native regions that take longer, with the
/// calls at their boundary, than the framework takes for their nodes as a region alone; everything in one
/// backend, for each that can run it; the cheapest mixture of these by the times of their parts
/// (mix_backends.h), and with several executors the one that ends soonest. While the mixture is slower than
/// predicted, another is made from the times that its parts had in it or, where these were right, at higher
/// prices of boundaries. Times of whole runs are compared; below a difference of 0.5% the plan with more
/// native regions ships. The reasons of moved nodes state the times. A plan whose values differ from those of
/// most others does not ship, however fast it is. Pins and the user's kernels stay. A plan that cannot be
/// measured ships as placed, and the report says why.
///   ort 0.30 | halide 0.12 | ort 0.30, the middle takes ort 0.05:  the middle goes to ort when that run is
///   faster
/// Alternatives to a plan with framework regions are the plan without any, where there is one, and the plan
/// for the slots of `also`, if it uses others.
/// Every plan keeps the memory limits (fit_memory.h): where the plan as placed does not, the cheapest that do
/// take its place, and likewise for everything on one target. Error: no plan was found that does; it says how
/// much is needed.
Result<ChosenPlan> choose_plan(const PlanningProblem& problem, Plan placed, const PlanTools& tools);

}  // namespace intarsia
