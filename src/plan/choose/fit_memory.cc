#include "plan/choose/fit_memory.h"

#include <algorithm>

#include "base/byte_size.h"
#include "plan/choose/shrink_placement.h"
#include "plan/partition/describe_plan.h"

namespace intarsia {
namespace {

/// Limits of compiled plans that turn out not to fit: plans that should by an estimate, and those of small
/// problems.
constexpr size_t most_tries = 2, most_tries_of_small = 64;
/// Limit of searches: after plans that do not fit, the search starts again with what they needed beyond their
/// estimates.
constexpr int most_rounds = 4;

/// Returns ": alive at once are 'conv1' (1.2 MB), 'conv2' (0.3 MB) and 2 more", if that is known.
std::string print_peak(const MemoryUse& use) {
  constexpr size_t most_shown = 4;
  if (use.peak.empty()) return "";
  std::string text = ", when there are alive";
  for (size_t i = 0; i < std::min(use.peak.size(), most_shown); ++i)
    text +=
        fmt::format("{} '{}' ({})", i == 0 ? "" : ",", use.peak[i].node, print_byte_size(use.peak[i].bytes));
  if (use.peak.size() > most_shown) text += fmt::format(" and {} more", use.peak.size() - most_shown);
  return text;
}

/// Returns what makes a program need less.
std::string remedy_of(const MemoryUse& use) {
  return use.peak.empty() ? "allow more, or give other devices with -d"
                          : "allow more, or take a smaller input, fewer channels there, or 8 bits";
}

uint32_t first_exceeded(const PlanningProblem& problem, const std::vector<MemoryUse>& uses) {
  uint32_t space = 0;
  while (space < uses.size() && uses[space].total() <= problem.memory_limit(space)) ++space;
  return space;
}

/// Checks whether some node in that memory may not move.
bool holds_pinned(const PlanningProblem& problem, const Placement& placement, uint32_t space) {
  return std::ranges::any_of(placement.nodes, [&](const PlacedNode& node) {
    return node.pinned && problem.space_of_target[node.target] == space;
  });
}

}  // namespace

MemoryFitter::MemoryFitter(const PlanningProblem& problem, const MemoryTools& tools, const Replan& replan)
    : problem_(problem),
      tools_(tools),
      replan_(replan),
      has_limits_(tools.measure && std::ranges::any_of(problem.memory_limits,
                                                       [](uint64_t limit) { return limit != no_limit; })) {}

Result<bool> MemoryFitter::fits(const Plan& plan) {
  if (!has_limits_) return true;
  const std::string identity = identify_plan(problem_, plan.partition);
  auto known = known_.find(identity);
  if (known == known_.end()) known = known_.emplace(identity, TRY(tools_.measure(plan))).first;
  return first_exceeded(problem_, known->second) == problem_.spaces.size();
}

std::vector<Plan> MemoryFitter::find(const Placement& placed, const std::optional<SegmentCosts>& costs,
                                     size_t most) {
  std::vector<Plan> found;
  const MeasureMemory estimate = [&](const Plan& plan) { return estimate_with_surplus(plan); };
  const auto shrink = [&](const SegmentCosts& known) {
    surplus_.assign(problem_.spaces.size(), 0);
    for (int round = 0; round < most_rounds && found.empty(); ++round)
      add_fitting(shrink_placement(problem_, placed, known, replan_, estimate), most, most_tries, found);
  };
  if (costs) shrink(*costs);
  for (const bool by_node : {false, true}) {
    if (found.empty()) shrink(guess_costs(problem_, placed, by_node));
  }
  if (found.empty())
    add_fitting(list_placements(problem_, placed, replan_, tools_.estimate), 1, most_tries_of_small, found);
  return found;
}

void MemoryFitter::add_fitting(std::vector<Placement> placements, size_t most, size_t tries,
                               std::vector<Plan>& found) {
  for (Placement& placement : placements) {
    if (found.size() == most || tries == 0) return;
    Result<Plan> plan = replan_(std::move(placement));
    if (!plan || known_.contains(identify_plan(problem_, plan->partition))) continue;
    const Result<std::vector<MemoryUse>> estimated = tools_.estimate(*plan);
    const Result<bool> is_fitting = fits(*plan);
    if (is_fitting && *is_fitting) {
      found.push_back(std::move(*plan));
      continue;
    }
    --tries;
    if (estimated && is_fitting)
      note_surplus(*estimated, known_.at(identify_plan(problem_, plan->partition)));
  }
}

Result<std::vector<MemoryUse>> MemoryFitter::estimate_with_surplus(const Plan& plan) const {
  std::vector<MemoryUse> uses = TRY(tools_.estimate(plan));
  for (size_t space = 0; space < uses.size(); ++space) uses[space].arena += surplus_[space];
  return uses;
}

void MemoryFitter::note_surplus(const std::vector<MemoryUse>& estimated,
                                const std::vector<MemoryUse>& measured) {
  for (size_t space = 0; space < estimated.size(); ++space) {
    const uint64_t before = std::min(estimated[space].total(), measured[space].total());
    surplus_[space] = std::max(surplus_[space], measured[space].total() - before);
  }
}

Error MemoryFitter::explain_failure(const Plan& placed, bool is_given) const {
  const std::vector<MemoryUse>* closest = &known_.at(identify_plan(problem_, placed.partition));
  for (const auto& [identity, uses] : known_) {
    if (bytes_over(problem_, uses) < bytes_over(problem_, *closest)) closest = &uses;
  }
  std::string plan = known_.size() == 1
                         ? "the only plan"
                         : fmt::format("the least that one of {} plans that were tried", known_.size());
  if (is_given) plan = "the plan, whose nodes are to stay where they are,";
  if (holds_pinned(problem_, placed.placement, first_exceeded(problem_, *closest)))
    plan += ", with the nodes that are pinned there,";
  return check_memory(problem_, *closest, plan).error();
}

Status check_memory(const PlanningProblem& problem, const std::vector<MemoryUse>& uses,
                    const std::string& plan) {
  const uint32_t space = first_exceeded(problem, uses);
  if (space == uses.size()) return {};
  const MemoryUse& use = uses[space];
  return fail(ErrorKind::unsupported,
              "--memory {}: the limit is {}, and {} needs {}, {} more: {} of constants and {} of working "
              "memory{}; {}",
              problem.spaces[space], print_byte_size(problem.memory_limit(space)), plan,
              print_byte_size(use.total()), print_byte_size(use.total() - problem.memory_limit(space)),
              print_byte_size(use.constants), print_byte_size(use.arena), print_peak(use), remedy_of(use));
}

}  // namespace intarsia
