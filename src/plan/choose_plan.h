// Which plan ships: the plan as placed against those of each backend alone, and against mixtures.
#pragma once

#include <map>

#include "plan/chosen_stage.h"
#include "plan/find_alternatives.h"
#include "plan/memory_use.h"
#include "plan/price_segments.h"
#include "plan/region_costs.h"

namespace intarsia {

/// What choosing a plan by measurement came to.
/// What ships where plans take nearly the same time.
enum class Prefer {
  self_contained,  // one that needs fewer libraries, unless another takes 3% less
  fastest
};

struct PlanReport {
  enum class Shipped { as_placed, dissolved, single_backend, mixed };
  Shipped shipped = Shipped::as_placed;
  std::string disabled_reason;       // why plans were not compared; empty: they were
  int dissolved = 0;                 // regions of the plan as placed that another backend runs instead
  std::string single;                // the backend that runs all, when not all was placed there
  std::optional<int64_t> measured;   // nanoseconds of the plan that ships
  std::optional<int64_t> predicted;  // of a mixed plan that ships, before it ran
  std::optional<int64_t> as_placed;  // of the plan as placed
  std::map<std::string, int64_t>
      single_backend;  // of everything in one backend, by its name; with several slots, on one target
  /// What of these cannot ship, and why: it does not run, computes something else than the others, or was
  /// given up because loading it takes too long.
  std::map<std::string, std::string> faults;
  bool is_unsure = false;  // other processes took cores: only a much faster plan replaced the one as placed
  struct Passed {
    std::string backends;  // "halide+onnxruntime"
    int64_t nanoseconds;
  };
  std::optional<Passed> passed_over;  // a plan that takes less, not by enough for the libraries that it needs
  int regions_measured = 0;           // regions of the compared plans that were timed for this
  int regions_remembered = 0;         // whose times were known
};

/// What plans are made and timed with.
struct PlanTools {
  std::string disabled_reason;    // why nothing is compared; empty: plans are
  PlanTimer* timer = nullptr;     // null only with disabled_reason
  std::vector<std::string> also;  // slots that must be enough to run, with a plan of their own if need be
  bool only_also = false;         // no alternatives but those
  TimeLink time_link;
  Replan replan;
  MemoryTools memory;              // absent: nothing is limited
  bool is_placement_kept = false;  // no node may move for want of memory
  Prefer prefer = Prefer::self_contained;
};

struct ChosenPlan {
  Plan plan;
  std::optional<PlanReport> report;  // absent when no other backend could run anything: there was no choice
  std::vector<AlternativePlan> alternatives = {};
  std::optional<int64_t> measured = {};   // nanoseconds of a run of the plan
  std::optional<int64_t> predicted = {};  // of a mixed plan, or one that was given: before it ran
  std::vector<RegionCost> regions = {};   // what each takes
  /// What parts took in the plans that were compared; absent when only one plan was possible, or parts could
  /// not be timed.
  std::optional<SegmentCosts> costs = {};
  std::vector<ChosenStage> stages = {};  // of a pipeline; empty: the plan is not divided
};

/// The fastest of: the plan as placed; the same without the regions of ours ("islands") that take longer,
/// with the calls at their boundary, than the framework takes for their nodes as a region alone; everything
/// in one backend, for each that can; the cheapest mixture of these by what their parts took
/// (mix_backends.h), and with several executors the one that ends soonest, at higher prices of boundaries as
/// long as the mixture is slower than predicted. Compared
/// are times of whole runs; below 0.5% the plan with more of ours ships. The moved nodes' reasons say the
/// times. A plan whose values differ from those of most others does not ship, however fast it is. Pins and
/// kernels of the user's stay. What cannot be measured ships as placed, and the report says
/// why.
///   ort 0.30 | halide 0.12 | ort 0.30, the middle takes ort 0.05:  the middle goes to ort when that run is
///   faster
/// A plan with regions of frameworks has the plan without any as an alternative, where there is one, and the
/// plan for the slots of `also`, if it uses others.
/// Every plan keeps the limits of memories (fit_memory.h): where the plan as placed does not, the cheapest
/// that do stand for it, and likewise for everything on one target. Error: none was found that does; it says
/// how much is needed.
Result<ChosenPlan> choose_plan(const PlanningProblem& problem, Plan placed, const PlanTools& tools);

}  // namespace intarsia
