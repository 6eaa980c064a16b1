#include "plan/costs/plan_timer.h"

#include <algorithm>

#include "graph/count_operations.h"
#include "plan/costs/plan_keys.h"
#include "plan/costs/segment_times.h"

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

/// Checks whether the plan ran, and computed what the others did.
bool is_sound(const Result<PlanTimes>& measured) { return measured && measured->fault.empty(); }

/// Checks whether the next compile would find the same: not so where this process could not run the plan, or
/// had no time to.
bool is_lasting(const Result<PlanTimes>& measured) {
  return measured ||
         (measured.error().kind != ErrorKind::busy && measured.error().kind != ErrorKind::cancelled);
}

std::string explain_fault(const Result<PlanTimes>& measured) {
  return measured ? measured->fault : measured.error().message;
}

/// Finds, among plans that were timed together, those that need no other time: more turns would not make them
/// the fastest.
std::set<CostKey> find_settled(const std::vector<CostKey>& keys, const std::map<CostKey, Cost>& rows) {
  constexpr double hopeless = 1.25;
  std::vector<CostKey> known;
  int64_t fastest = never;
  for (const CostKey& key : keys) {
    const auto row = rows.find(key);
    if (row == rows.end()) continue;
    known.push_back(key);
    fastest = std::min(fastest, row->second.timing.nanoseconds);
  }
  std::set<CostKey> settled;
  if (!rows.contains(keys[0]) || !were_timed_together(known, rows)) return settled;
  for (const CostKey& key : known) {
    const int64_t time = rows.at(key).timing.nanoseconds;
    const bool is_slow = time != never && static_cast<double>(time) > hopeless * static_cast<double>(fastest);
    if (key != keys[0] && is_slow) settled.insert(key);
  }
  return settled;
}

void keep_least(std::map<CostKey, Cost>& rows, const CostKey& key, const Cost& now, const Timing& timing) {
  Timing& least = rows.try_emplace(key, now).first->second.timing;
  least = std::ranges::min(least, timing, {}, &Timing::nanoseconds);
}

}  // namespace

/// Returns the plans, in order, that have a missing region which no earlier one has.
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

std::set<CostKey> PlanTimer::find_missing(const std::vector<CostKey>& rivals, const Rows& known) const {
  const std::vector<CostKey> missing = find_incomparable(rivals, known, probe_);
  return {missing.begin(), missing.end()};
}

Result<std::vector<Result<PlanTimes>>> PlanTimer::measure(const std::vector<const Plan*>& plans) {
  std::vector<Result<PlanTimes>> measured = TRY(measure_(plans));
  for (const Result<PlanTimes>& one : measured) was_disturbed_ |= one && one->whole.is_disturbed;
  return measured;
}

void PlanTimer::keep(const Rows& rows) {
  const std::vector<std::pair<CostKey, Cost>> list(rows.begin(), rows.end());
  costs_.add(list);
}

void PlanTimer::keep_parts(const std::vector<const Plan*>& plans,
                           const std::vector<Result<PlanTimes>>& measured, const Cost& now) {
  Rows rows;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!is_sound(measured[i])) continue;
    const std::vector<CostKey> parts = part_keys(problem_, plans[i]->partition, conditions_);
    for (size_t r = 0; r < parts.size(); ++r) keep_least(rows, parts[r], now, measured[i]->regions[r]);
  }
  keep(rows);
}

Result<std::vector<Result<PlanTimes>>> PlanTimer::measure_sound(const std::vector<const Plan*>& plans,
                                                                const std::vector<CostKey>& keys) {
  std::vector<const Plan*> sound;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!faults_.contains(keys[i])) sound.push_back(plans[i]);
  }
  std::vector<Result<PlanTimes>> measured = TRY(measure(sound));
  std::vector<Result<PlanTimes>> all;
  auto next = measured.begin();
  for (const CostKey& key : keys) {
    const auto fault = faults_.find(key);
    all.push_back(fault == faults_.end() ? std::move(*next++) : PlanTimes{.fault = fault->second});
  }
  return all;
}

std::string PlanTimer::fault_of(const Plan& plan) {
  const auto fault = faults_.find(key_of(plan));
  return fault == faults_.end() ? "" : fault->second;
}

Result<PlanTimer::Rows> PlanTimer::measure_runs(const std::vector<const Plan*>& plans,
                                                const std::vector<CostKey>& keys, const Rows& known) {
  const std::set<CostKey> settled = find_settled(keys, known);
  std::vector<const Plan*> open;
  std::vector<CostKey> open_keys;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (settled.contains(keys[i])) continue;
    open.push_back(plans[i]);
    open_keys.push_back(keys[i]);
  }
  const Cost now = cost_measured_now(probe_());
  const std::vector<Result<PlanTimes>> measured = TRY(measure_sound(open, open_keys));
  if (!measured[0]) return tl::unexpected(measured[0].error());
  Rows rows, lasting;
  for (const CostKey& key : settled) {
    rows[key] = now;
    rows[key].timing = known.at(key).timing;
    lasting[key] = rows[key];
  }
  for (size_t i = 0; i < open.size(); ++i) {
    Cost& row = rows[open_keys[i]] = now;
    row.fault = explain_fault(measured[i]);
    if (is_sound(measured[i])) {
      row.timing = measured[i]->whole;
      measured_[open_keys[i]] = *measured[i];
    }
    if (is_lasting(measured[i])) lasting[open_keys[i]] = row;
  }
  keep(lasting);
  keep_parts(open, measured, now);
  return rows;
}

Result<std::vector<int64_t>> PlanTimer::time_runs(const std::vector<const Plan*>& plans) {
  std::vector<CostKey> keys;
  for (const Plan* plan : plans) keys.push_back(key_of(*plan));
  Rows rows = costs_.find(keys);
  if (!were_timed_together(keys, rows)) {
    for (const auto& [key, row] : rows) {
      if (row.timing.nanoseconds == never && !row.fault.empty()) faults_[key] = row.fault;
    }
    rows = TRY(measure_runs(plans, keys, rows));
  }
  std::vector<int64_t> times;
  for (const CostKey& key : keys) {
    const Cost& row = rows.at(key);
    times.push_back(row.timing.nanoseconds);
    if (times.back() == never) faults_[key] = row.fault;
  }
  return times;
}

Result<PlanTimer::Rows> PlanTimer::measure_regions(const std::vector<const ComparedPlan*>& runs,
                                                   const std::set<CostKey>& missing) {
  if (runs.empty()) return Rows();
  std::vector<const Plan*> plans;
  for (const ComparedPlan* run : runs) plans.push_back(&run->plan);
  const Cost now = cost_measured_now(probe_());
  const std::vector<Result<PlanTimes>> measured = TRY(measure(plans));
  Rows rows;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!measured[i] && runs[i]->number == 0) return tl::unexpected(measured[i].error());
    if (!is_sound(measured[i]) && is_lasting(measured[i]))
      (rows[runs[i]->key] = now).fault = explain_fault(measured[i]);
    for (size_t r = 0; is_sound(measured[i]) && r < runs[i]->regions.size(); ++r) {
      if (!missing.contains(runs[i]->regions[r])) continue;
      keep_least(rows, runs[i]->regions[r], now, measured[i]->regions[r]);
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
  const std::set<CostKey> missing = find_missing(rivals, known);
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

std::vector<std::optional<CostKey>> PlanTimer::keys_of_whole(const Plan& plan,
                                                             const Segments& segments) const {
  std::vector<uint32_t> target_of;
  for (const std::vector<NodeId>& segment : segments) target_of.push_back(plan.placement[segment[0]].target);
  std::vector<std::optional<CostKey>> keys;
  for (CostKey& key : segment_keys(problem_, segments, target_of, conditions_)) {
    const bool is_whole = region_of_segment(plan.partition, segments[keys.size()]).has_value();
    keys.push_back(is_whole ? std::optional(std::move(key)) : std::nullopt);
  }
  return keys;
}

Result<std::vector<const PlanTimes*>> PlanTimer::times_of(const std::vector<const Plan*>& plans) {
  std::vector<CostKey> keys, unknown_keys;
  std::vector<const Plan*> unknown;
  for (const Plan* plan : plans) {
    keys.push_back(key_of(*plan));
    if (measured_.contains(keys.back())) continue;
    unknown.push_back(plan);
    unknown_keys.push_back(keys.back());
  }
  if (!unknown.empty()) {
    const std::vector<Result<PlanTimes>> measured = TRY(measure(unknown));
    for (size_t i = 0; i < measured.size(); ++i) {
      if (is_sound(measured[i])) measured_[unknown_keys[i]] = *measured[i];
    }
  }
  std::vector<const PlanTimes*> times;
  for (const CostKey& key : keys) {
    const auto known = measured_.find(key);
    times.push_back(known == measured_.end() ? nullptr : &known->second);
  }
  return times;
}

std::vector<double> PlanTimer::least_times(const Plan& plan, const Segments& segments) const {
  std::vector<double> times;
  for (const std::vector<NodeId>& segment : segments) {
    const DeviceSlot& slot = problem_.slots[problem_.targets[plan.placement[segment[0]].target].slot];
    const double per_nanosecond = peak_ * slot.threads(conditions_.threads);
    const bool is_known = slot.kind == "cpu" && slot.declared_times.empty() && per_nanosecond > 0;
    times.push_back(is_known ? least_time(problem_.graph, segment, per_nanosecond) : 0);
  }
  return times;
}

std::vector<int64_t> PlanTimer::divide(const PlanTimes& times, const Plan& plan,
                                       const Segments& segments) const {
  return segment_times(problem_.graph, plan.partition, times, segments, least_times(plan, segments));
}

std::vector<int64_t> PlanTimer::times_within(const Plan& plan, const Segments& segments) {
  const auto ran = measured_.find(key_of(plan));
  if (ran == measured_.end() || ran->second.whole.is_disturbed) return {};
  return divide(ran->second, plan, segments);
}

void PlanTimer::correct_segments(const Plan& plan, const Segments& segments,
                                 const std::vector<int64_t>& times) {
  const Cost now = cost_measured_now(probe_());
  const std::vector<std::optional<CostKey>> keys = keys_of_whole(plan, segments);
  Rows rows;
  for (size_t s = 0; s < segments.size(); ++s) {
    if (!keys[s] || times[s] == never) continue;
    Timing& most = rows.try_emplace(*keys[s], now).first->second.timing;
    most.nanoseconds = most.nanoseconds == never ? times[s] : std::max(most.nanoseconds, times[s]);
  }
  keep(rows);
}

Result<PlanTimer::Rows> PlanTimer::measure_segments(const std::vector<SegmentedPlan>& plans,
                                                    const std::set<CostKey>& missing,
                                                    const Segments& segments) {
  const auto is_missing = [&](const auto& key) { return key && missing.contains(*key); };
  std::vector<const SegmentedPlan*> runs;
  std::vector<const Plan*> to_run;
  for (const SegmentedPlan& plan : plans) {
    if (std::ranges::none_of(plan.segments, is_missing)) continue;
    runs.push_back(&plan);
    to_run.push_back(&plan.plan);
  }
  if (runs.empty()) return Rows();
  const std::vector<const PlanTimes*> times = TRY(times_of(to_run));
  const Cost now = cost_measured_now(probe_());
  Rows rows;
  for (size_t r = 0; r < runs.size(); ++r) {
    const std::vector<int64_t> parts = times[r] == nullptr ? std::vector<int64_t>(segments.size(), never)
                                                           : divide(*times[r], *to_run[r], segments);
    for (size_t s = 0; s < segments.size(); ++s) {
      const std::optional<CostKey>& key = runs[r]->segments[s];
      if (!is_missing(key)) continue;
      Timing& least = rows.try_emplace(*key, now).first->second.timing;
      least.nanoseconds = std::min(least.nanoseconds, parts[s]);
      least.is_disturbed |= times[r] != nullptr && times[r]->whole.is_disturbed;
    }
  }
  keep(rows);
  return rows;
}

Result<std::vector<std::vector<int64_t>>> PlanTimer::time_segments(const std::vector<const Plan*>& plans,
                                                                   const Segments& segments) {
  std::vector<SegmentedPlan> segmented;
  std::vector<CostKey> rivals;
  for (const Plan* plan : plans) {
    segmented.push_back({*plan, keys_of_whole(*plan, segments)});
    for (const std::optional<CostKey>& key : segmented.back().segments)
      if (key) rivals.push_back(*key);
  }
  Rows known = costs_.find(rivals);
  const std::set<CostKey> missing = find_missing(rivals, known);
  for (const auto& [key, cost] : TRY(measure_segments(segmented, missing, segments))) known[key] = cost;
  std::vector<std::vector<int64_t>> times;
  for (const SegmentedPlan& plan : segmented) {
    times.emplace_back();
    for (const std::optional<CostKey>& key : plan.segments)
      times.back().push_back(key ? known.at(*key).timing.nanoseconds : never);
  }
  return times;
}

}  // namespace intarsia
