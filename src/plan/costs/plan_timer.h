// Times of plans and of their regions: known from the table of measured times, or measured now.
#pragma once

#include <functional>
#include <set>

#include "plan/plan.h"
#include "plan/segment_costs.h"
#include "target/comparable_costs.h"

namespace intarsia {

/// Function that runs plans in turns; it returns a result per plan (which may not run), or why none could be
/// measured.
using MeasurePlans =
    std::function<Result<std::vector<Result<PlanTimes>>>(const std::vector<const Plan*>& plans)>;

class PlanTimer {
 public:
  /// Refers to `problem` and `costs`, which outlive it. `conditions`: what times depend on besides the plan:
  /// threads, precision and `code`. `peak`: f32 operations per nanosecond that a core of the host can do; 0
  /// if not known.
  PlanTimer(const PlanningProblem& problem, MeasurePlans measure, Probe probe, CostTable& costs,
            CostKey conditions, double peak = 0)
      : problem_(problem),
        measure_(std::move(measure)),
        probe_(std::move(probe)),
        costs_(costs),
        conditions_(std::move(conditions)),
        peak_(peak) {}

  /// Returns the nanoseconds of a run of each plan. A plan that does not compile or run, or computes
  /// something else than the others, takes `never`, which is also kept with the reason, unless it is this
  /// process that cannot run it or has no time left to; plans known to be so are left out. Unless all are
  /// known from one measurement, all are measured together, except for those that an earlier one found much
  /// slower than another of them, and the times of their regions are kept, too. Errors: nothing can be
  /// measured, or the first plan does not run; then nothing is kept.
  Result<std::vector<int64_t>> time_runs(const std::vector<const Plan*>& plans);

  /// Returns the nanoseconds of each region of each plan. A region is known from any plan, of any model, that
  /// had an equal one. Only regions that find_incomparable names are measured, and only plans that have them
  /// run. Regions that only plans which do not run have take `never`; that these do not run is kept.
  /// Errors: as time_runs.
  Result<std::vector<std::vector<int64_t>>> time_regions(const std::vector<const Plan*>& plans);

  /// Returns, by [plan][segment], the nanoseconds of each segment inside the region of the plan that has it
  /// (segment_times.h). A segment is known from any plan, of any model, that had an equal one on such a
  /// target. Only plans with segments that are not known run, and not those that ran for time_runs just now.
  /// Errors: as time_runs.
  Result<std::vector<std::vector<int64_t>>> time_segments(const std::vector<const Plan*>& plans,
                                                          const Segments& segments);

  /// Returns the time of each segment in a plan that this object ran undisturbed; empty if it did not.
  std::vector<int64_t> times_within(const Plan& plan, const Segments& segments);

  /// Keeps `times` for the segments on the targets of the plan, in place of known ones; `never` is not kept.
  void correct_segments(const Plan& plan, const Segments& segments, const std::vector<int64_t>& times);

  /// Returns why the plan takes `never`, by time_runs; empty if it does not.
  std::string fault_of(const Plan& plan);

  /// Checks whether other processes took cores while this object measured.
  bool was_disturbed() const { return was_disturbed_; }
  int regions_measured() const { return regions_measured_; }      // regions measured by time_regions
  int regions_remembered() const { return regions_remembered_; }  // regions whose times were known

 private:
  using Rows = std::map<CostKey, Cost>;
  struct ComparedPlan {
    const Plan& plan;
    size_t number;  // 0 for the first
    CostKey key;
    std::vector<CostKey> regions;
    bool can_run = true;  // whether the plan runs, as far as is known
  };
  struct SegmentedPlan {
    const Plan& plan;
    std::vector<std::optional<CostKey>> segments;
  };
  CostKey key_of(const Plan& plan);
  /// Finds the rivals to measure now (find_incomparable).
  std::set<CostKey> find_missing(const std::vector<CostKey>& rivals, const Rows& known) const;
  /// Returns the key of each segment; nullopt for one that several regions share.
  std::vector<std::optional<CostKey>> keys_of_whole(const Plan& plan, const Segments& segments) const;
  /// Returns the least time of each segment on the host's cores, by its arithmetic and what it writes; 0 if
  /// not known.
  std::vector<double> least_times(const Plan& plan, const Segments& segments) const;
  std::vector<int64_t> divide(const PlanTimes& times, const Plan& plan, const Segments& segments) const;
  /// Returns the times of each plan from this compile, measured now if they were not yet; null if it does not
  /// run.
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
  /// Returns the times of the plans in order: those without a known fault are measured now, the others have
  /// their fault.
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
  std::string graph_;                      // digest of the graph of all plans; empty until it is needed
  std::map<CostKey, PlanTimes> measured_;  // times by this object, of plans that run
  std::map<CostKey, std::string> faults_;  // faults of plans that take `never`
  int regions_measured_ = 0, regions_remembered_ = 0;
  bool was_disturbed_ = false;
};

}  // namespace intarsia
