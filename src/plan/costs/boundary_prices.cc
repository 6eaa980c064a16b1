#include "plan/costs/boundary_prices.h"

#include <cmath>

#include "plan/costs/plan_keys.h"

namespace intarsia {
namespace {

constexpr const char* from_space = "boundary";

/// Returns the name of the target in the table of links, where its boundaries are links from one "space".
std::string boundary_key(const PlanningProblem& problem, uint32_t target, int threads) {
  const PlacementTarget& at = problem.targets[target];
  const DeviceSlot& slot = problem.slots[at.slot];
  return fmt::format("{} {} {} {} {} threads", at.backend->name(), at.backend->version(),
                     at.backend->info().code_generation, at.device.model(), slot.threads(threads));
}

}  // namespace

BoundaryPrice assumed_boundary(const PlacementTarget& target) {
  constexpr int64_t call = 2000, framework_call = 10000;  // a framework wakes threads of its own
  constexpr double per_byte = 0.2;
  return {target.backend->info().needs_framework ? framework_call : call, per_byte};
}

std::optional<BoundaryPrice> find_boundary(const PlanningProblem& problem, uint32_t target, int threads,
                                           CostTable& table) {
  const std::optional<LinkCost> row = table.find_link(from_space, boundary_key(problem, target, threads));
  if (!row) return std::nullopt;
  return BoundaryPrice{std::llround(row->latency_ns), row->ns_per_byte};
}

void add_boundary(const PlanningProblem& problem, uint32_t target, int threads, const BoundaryPrice& price,
                  CostTable& table) {
  table.add_link(from_space, boundary_key(problem, target, threads),
                 {static_cast<double>(price.call), price.per_byte, cost_measured_now(0).at});
}

std::vector<BoundaryPrice> known_boundaries(const PlanningProblem& problem, int threads, CostTable& table) {
  std::vector<BoundaryPrice> prices;
  for (uint32_t target = 0; target < problem.targets.size(); ++target)
    prices.push_back(
        find_boundary(problem, target, threads, table).value_or(assumed_boundary(problem.targets[target])));
  return prices;
}

}  // namespace intarsia
