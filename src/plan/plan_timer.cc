#include "plan/plan_timer.h"

#include <algorithm>

#include "plan/plan_keys.h"

namespace intarsia {
namespace {

bool never_runs(const CostKey& plan, const std::map<CostKey, Cost>& known) {
  const auto row = known.find(plan);
  return row != known.end() && row->second.timing.nanoseconds == never;
}

int count_regions(const std::map<CostKey, Cost>& rows) {
  return static_cast<int>(
      std::ranges::count(rows, CostKind::region, [](const auto& row) { return row.first.kind; }));
}

}  // namespace

/// Those, in order, that have a missing region which none before has.
std::vector<const PlanTimer::ComparedPlan*> PlanTimer::choose_runs(const std::vector<ComparedPlan>& plans,
                                                                   std::set<CostKey> missing) {
  std::vector<const ComparedPlan*> runs;
  for (const ComparedPlan& plan : plans) {
    size_t found = 0;
    for (const CostKey& region : plan.regions) found += plan.can_run ? missing.erase(region) : 0;
    if (found > 0) runs.push_back(&plan);
  }
  return runs;
}

CostKey PlanTimer::key_of(const Plan& plan) {
  if (graph_.empty()) graph_ = digest_graph(problem_.graph);
  return plan_key(problem_, plan.partition, graph_, conditions_);
}

void PlanTimer::keep(const Rows& rows) {
  const std::vector<std::pair<CostKey, Cost>> list(rows.begin(), rows.end());
  costs_.add(list);
}

Result<std::vector<int64_t>> PlanTimer::time_runs(const std::vector<const Plan*>& plans) {
  std::vector<CostKey> keys;
  for (const Plan* plan : plans) keys.push_back(key_of(*plan));
  Rows rows = costs_.find(keys);
  if (!were_timed_together(keys, rows)) {
    const Cost now = cost_measured_now(probe_());
    const std::vector<Result<PlanTimes>> measured = TRY(measure_(plans));
    if (!measured[0]) return tl::unexpected(measured[0].error());
    rows.clear();
    for (size_t i = 0; i < plans.size(); ++i)
      (rows[keys[i]] = now).timing = measured[i] ? measured[i]->whole : Timing{};
    keep(rows);
  }
  std::vector<int64_t> times;
  for (const CostKey& key : keys) times.push_back(rows.at(key).timing.nanoseconds);
  return times;
}

Result<PlanTimer::Rows> PlanTimer::measure_regions(const std::vector<const ComparedPlan*>& runs,
                                                   const std::set<CostKey>& missing) {
  if (runs.empty()) return Rows();
  std::vector<const Plan*> plans;
  for (const ComparedPlan* run : runs) plans.push_back(&run->plan);
  const Cost now = cost_measured_now(probe_());
  const std::vector<Result<PlanTimes>> measured = TRY(measure_(plans));
  Rows rows;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!measured[i] && runs[i]->number == 0) return tl::unexpected(measured[i].error());
    if (!measured[i]) rows[runs[i]->key] = now;
    for (size_t r = 0; measured[i] && r < runs[i]->regions.size(); ++r) {
      if (!missing.contains(runs[i]->regions[r])) continue;
      Timing& least = rows.try_emplace(runs[i]->regions[r], now).first->second.timing;
      least = std::ranges::min(least, measured[i]->regions[r], {}, &Timing::nanoseconds);
    }
  }
  keep(rows);
  return rows;
}

Result<std::vector<std::vector<int64_t>>> PlanTimer::time_regions(const std::vector<const Plan*>& plans) {
  std::vector<ComparedPlan> compared;
  std::vector<CostKey> keys;
  for (const Plan* plan : plans) {
    compared.push_back(
        {*plan, compared.size(), key_of(*plan), region_keys(problem_, plan->partition, conditions_)});
    keys.push_back(compared.back().key);
    keys.insert(keys.end(), compared.back().regions.begin(), compared.back().regions.end());
  }
  Rows known = costs_.find(keys);
  std::vector<CostKey> rivals;
  for (ComparedPlan& plan : compared) {
    plan.can_run = plan.number == 0 || !never_runs(plan.key, known);
    for (const CostKey& region : plan.regions)
      if (plan.can_run || known.contains(region)) rivals.push_back(region);
  }
  const std::vector<CostKey> list = find_incomparable(rivals, known, probe_);
  const std::set<CostKey> missing(list.begin(), list.end());
  const Rows measured = TRY(measure_regions(choose_runs(compared, missing), missing));
  for (const CostKey& region : missing) known.erase(region);
  regions_measured_ += count_regions(measured);
  regions_remembered_ += count_regions(known);
  known.insert(measured.begin(), measured.end());
  std::vector<std::vector<int64_t>> times;
  for (const ComparedPlan& plan : compared) {
    times.emplace_back();
    for (const CostKey& region : plan.regions) times.back().push_back(known[region].timing.nanoseconds);
  }
  return times;
}

}  // namespace intarsia
