#include "plan/plan_timer.h"

#include <algorithm>

#include "base/digest.h"
#include "graph/print_graph.h"
#include "plan/describe_plan.h"

namespace intarsia {

std::string PlanTimer::key(const Plan& plan) {
  if (graph_.empty()) graph_ = fmt::format("{:016x}", digest_bytes(print_graph(problem_.graph)));
  return fmt::format("plan {:016x} of graph {}, {}: ", digest_bytes(identify_plan(problem_, plan.partition)),
                     graph_, conditions_);
}

PlanTimer::Rows PlanTimer::region_rows(const Plan& plan) {
  const std::string text = key(plan);
  Rows rows;
  for (size_t r = 0; r < plan.partition.regions.size(); ++r)
    rows.push_back(fmt::format("{}region {}", text, r));
  return rows;
}

std::optional<std::vector<std::vector<int64_t>>> PlanTimer::recall(const std::vector<Rows>& rows) {
  std::vector<std::vector<int64_t>> times;
  for (const Rows& of_plan : rows) {
    times.emplace_back();
    for (const std::string& row : of_plan) {
      const std::optional<int64_t> known = costs_.find(row);
      if (!known) return std::nullopt;
      times.back().push_back(*known);
    }
  }
  return times;
}

void PlanTimer::keep(const Rows& rows, const std::vector<int64_t>& times) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (size_t i = 0; i < rows.size(); ++i) entries.emplace_back(rows[i], std::max(times[i], int64_t{1}));
  costs_.add(entries);
}

Result<std::vector<int64_t>> PlanTimer::time_runs(const std::vector<const Plan*>& plans) {
  std::vector<Rows> rows;
  for (const Plan* plan : plans) rows.push_back(run_row(*plan));
  std::vector<int64_t> times;
  if (const auto known = recall(rows)) {
    for (const std::vector<int64_t>& of_plan : *known) times.push_back(of_plan[0]);
    return times;
  }
  const std::vector<Result<PlanTimes>> measured = TRY(measure_(plans));
  if (!measured[0]) return tl::unexpected(measured[0].error());
  for (size_t i = 0; i < plans.size(); ++i) {
    times.push_back(measured[i] ? measured[i]->whole : never);
    keep(rows[i], {times.back()});
  }
  return times;
}

Result<std::vector<std::vector<int64_t>>> PlanTimer::time_regions(const std::vector<const Plan*>& plans) {
  std::vector<Rows> rows;
  for (const Plan* plan : plans) rows.push_back(region_rows(*plan));
  if (auto known = recall(rows)) return std::move(*known);
  const std::vector<Result<PlanTimes>> measured = TRY(measure_(plans));
  if (!measured[0]) return tl::unexpected(measured[0].error());
  std::vector<std::vector<int64_t>> times;
  for (size_t i = 0; i < plans.size(); ++i) {
    times.push_back(measured[i] ? measured[i]->regions : std::vector<int64_t>(rows[i].size(), never));
    keep(rows[i], times.back());
  }
  return times;
}

}  // namespace intarsia
