// Times of plans and of their regions: known from the table of what was measured, or measured now.
#pragma once

#include <functional>
#include <set>

#include "plan/segment_times.h"
#include "target/comparable_costs.h"

namespace intarsia {

/// Runs plans in turns; one result a plan (it may not run), or why none could be measured.
using MeasurePlans =
    std::function<Result<std::vector<Result<PlanTimes>>>(const std::vector<const Plan*>& plans)>;

class PlanTimer {
 public:
  /// `conditions`: what times depend on besides the plan: threads, precision and `code`. `peak`: f32
  /// operations per nanosecond that a core of the host can do; 0: not known. `problem` and `costs` outlive
  /// this.
  PlanTimer(const PlanningProblem& problem, MeasurePlans measure, Probe probe, CostTable& costs,
            CostKey conditions, double peak = 0)
      : problem_(problem),
        measure_(std::move(measure)),
        probe_(std::move(probe)),
        costs_(costs),
        conditions_(std::move(conditions)),
        peak_(peak) {}

  /// Nanoseconds of a run, one entry a plan. What does not compile or run, or computes something else than
  /// the others, takes `never`, which is also kept with the reason, unless it is this process that cannot run
  /// it or has no time left to; what is known to be so is left out. Unless all are known from
  /// one measurement, all are measured together, except for those that an earlier one found much slower than
  /// another of them, and the times of their regions are kept, too. Error: nothing
  /// can be measured, or the first plan does not run; then nothing is kept.
  Result<std::vector<int64_t>> time_runs(const std::vector<const Plan*>& plans);

  /// The same of each region of each plan. A region is known from any plan, of any model, that had the same
  /// one. Only what find_incomparable names is measured, and only plans that have such regions run. What a
  /// plan that does not run has alone takes `never`; that the plan does not is kept. Error: as above.
  Result<std::vector<std::vector<int64_t>>> time_regions(const std::vector<const Plan*>& plans);

  /// [plan][segment]: what each segment took inside the region of the plan that has it (segment_times.h).
  /// Known from any plan, of any model, that had an equal one on such a target. Only plans with segments that
  /// are not known run, and not those that ran for time_runs just now. Error: as above.
  Result<std::vector<std::vector<int64_t>>> time_segments(const std::vector<const Plan*>& plans,
                                                          const Segments& segments);

  /// Why the plan takes `never`, by time_runs; empty: it does not.
  std::string fault_of(const Plan& plan);

  /// Did other processes take cores while this object measured?
  bool was_disturbed() const { return was_disturbed_; }
  int regions_measured() const { return regions_measured_; }      // by time_regions
  int regions_remembered() const { return regions_remembered_; }  // their times were known

 private:
  using Rows = std::map<CostKey, Cost>;
  struct ComparedPlan {
    const Plan& plan;
    size_t number;  // 0: the first
    CostKey key;
    std::vector<CostKey> regions;
    bool can_run = true;  // as far as is known
  };
  struct SegmentedPlan {
    const Plan& plan;
    std::vector<std::optional<CostKey>> segments;
  };
  CostKey key_of(const Plan& plan);
  /// Of the rivals, those to measure now (find_incomparable).
  std::set<CostKey> find_missing(const std::vector<CostKey>& rivals, const Rows& known) const;
  /// By segment; of one that several regions share, nothing.
  std::vector<std::optional<CostKey>> keys_of_whole(const Plan& plan, const Segments& segments) const;
  /// What each segment takes at least on the host's cores, by its arithmetic; 0: not known.
  std::vector<double> least_times(const Plan& plan, const Segments& segments) const;
  /// Of each plan, from this compile: measured now unless they were before.
  Result<std::vector<const PlanTimes*>> times_of(const std::vector<const Plan*>& plans);
  static std::vector<const ComparedPlan*> choose_runs(const std::vector<ComparedPlan>& plans,
                                                      std::set<CostKey> missing);
  /// Keeps and returns the rows of the missing regions that the plans have.
  Result<Rows> measure_regions(const std::vector<const ComparedPlan*>& runs,
                               const std::set<CostKey>& missing);
  /// Keeps and returns the rows of the missing segments that the plans have.
  Result<Rows> measure_segments(const std::vector<SegmentedPlan>& plans, const std::set<CostKey>& missing,
                                const Segments& segments);
  /// Measures, keeps and returns the rows of all plans, of which `known` has some.
  Result<Rows> measure_runs(const std::vector<const Plan*>& plans, const std::vector<CostKey>& keys,
                            const Rows& known);
  /// Of the plans whose faults are not known: measured now, in order; the others have theirs.
  Result<std::vector<Result<PlanTimes>>> measure_sound(const std::vector<const Plan*>& plans,
                                                       const std::vector<CostKey>& keys);
  /// Runs the plans now, in turns.
  Result<std::vector<Result<PlanTimes>>> measure(const std::vector<const Plan*>& plans);
  void keep(const Rows& rows);
  void keep_parts(const std::vector<const Plan*>& plans, const std::vector<Result<PlanTimes>>& measured,
                  const Cost& now);

  const PlanningProblem& problem_;
  MeasurePlans measure_;
  Probe probe_;
  CostTable& costs_;
  const CostKey conditions_;
  const double peak_;
  std::string graph_;  // digest of the graph that all plans are of; empty until it is needed
  std::map<CostKey, PlanTimes> measured_;  // by this object, of plans that run
  std::map<CostKey, std::string> faults_;  // of plans that take `never`
  int regions_measured_ = 0, regions_remembered_ = 0;
  bool was_disturbed_ = false;
};

}  // namespace intarsia
