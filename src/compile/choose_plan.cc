#include "compile/choose_plan.h"

#include <algorithm>

#include "compile/plan_candidates.h"

namespace intarsia {
namespace {

/// What a region's boundary costs beside its own run: a call of ONNX Runtime takes 2 us, and each region has
/// its step.
constexpr int64_t boundary_nanoseconds = 3000;
/// Differences of whole runs below this are noise.
constexpr double tie = 0.02;

std::string milliseconds(int64_t nanoseconds) {
  return fmt::format("{:.3g} ms", static_cast<double>(nanoseconds) / 1e6);
}

/// A plan that may ship.
struct Candidate {
  CompileResult plan;
  PlanReport::Shipped kind = PlanReport::Shipped::as_placed;
  uint32_t framework = 0;  // that runs all, of single_backend and with moves_all
  int dissolved = 0;       // regions
  bool moves_all = false;  // that may move
  int64_t nanoseconds = PlanTimer::never;
};

class PlanChooser {
 public:
  PlanChooser(CompileResult placed, const PlanTools& tools) : tools_(tools) {
    candidates_.push_back({.plan = std::move(placed)});
  }

  Result<CompileResult> choose() {
    TRY(add_dissolved());
    for (uint32_t framework : frameworks_of(placed())) add_single(framework);
    if (candidates_.size() == 1) return fail("no node of it could move to a framework");
    TRY(time_candidates());
    return ship(*find_fastest());
  }

 private:
  const CompileResult& placed() const { return candidates_[0].plan; }

  /// The plan without the islands that the framework runs faster.
  Status add_dissolved() {
    const std::vector<Island> islands = find_islands(placed());
    if (islands.empty()) return {};
    const CompileResult apart = hand_over_islands(placed(), islands);
    const std::vector<std::vector<int64_t>> times = TRY(tools_.timer->time_regions({&placed(), &apart}));
    Candidate candidate{.kind = PlanReport::Shipped::dissolved};
    Placement placement = placed().placement;
    for (const Island& island : islands) {
      const int64_t ours = times[0][island.region], theirs = times[1][island.region];
      if (ours + boundary_nanoseconds <= theirs) continue;
      ++candidate.dissolved;
      dissolve(island, ours, theirs, placement);
    }
    if (candidate.dissolved > 0) add(std::move(candidate), std::move(placement));
    return {};
  }

  void dissolve(const Island& island, int64_t ours, int64_t theirs, Placement& placement) const {
    for (NodeId node : placed().partition.regions[island.region].nodes) {
      placement.target[index(node)] = island.framework;
      placement.reason[index(node)] = fmt::format("dissolved: {} natively, {} in {}", milliseconds(ours),
                                                  milliseconds(theirs), name_of(island.framework));
    }
  }

  /// Everything in the framework, or, where pins hold some elsewhere, everything else.
  void add_single(uint32_t framework) {
    std::optional<Placement> placement = place_all_on(placed(), framework);
    if (!placement) return;
    const bool alone =
        std::ranges::all_of(placement->target, [&](uint32_t target) { return target == framework; });
    Candidate candidate{.kind = alone ? PlanReport::Shipped::single_backend : PlanReport::Shipped::dissolved,
                        .framework = framework,
                        .moves_all = true};
    for (const Region& region : placed().partition.regions) {
      const uint32_t now = placement->target[index(region.nodes[0])];
      candidate.dissolved += region.target != now && now == framework;
    }
    add(std::move(candidate), std::move(*placement));
  }

  /// With regions and steps for its placement; not at all when it can have none, or runs the same as another.
  void add(Candidate candidate, Placement placement) {
    Result<CompileResult> plan = tools_.replan(placed(), std::move(placement));
    if (!plan) return;
    candidate.plan = std::move(*plan);
    const std::string text = describe_plan(candidate.plan);
    const auto same = std::ranges::find_if(
        candidates_, [&](const Candidate& other) { return describe_plan(other.plan) == text; });
    if (same == candidates_.end()) {
      candidates_.push_back(std::move(candidate));
    } else if (same != candidates_.begin()) {
      same->kind = candidate.kind;  // the reasons of the other say more
      same->framework = candidate.framework;
    }
  }

  Status time_candidates() {
    std::vector<const CompileResult*> plans;
    for (const Candidate& candidate : candidates_) plans.push_back(&candidate.plan);
    const std::vector<int64_t> times = TRY(tools_.timer->time_runs(plans));
    for (size_t i = 0; i < times.size(); ++i) candidates_[i].nanoseconds = times[i];
    return {};
  }

  /// The candidates stand in order of preference.
  const Candidate* find_fastest() const {
    const Candidate* best = &candidates_[0];
    for (const Candidate& candidate : candidates_) {
      if (static_cast<double>(candidate.nanoseconds) < (1 - tie) * static_cast<double>(best->nanoseconds))
        best = &candidate;
    }
    return best;
  }

  CompileResult ship(const Candidate& chosen) const {
    CompileResult result = chosen.plan;
    PlanReport report{
        .shipped = chosen.kind, .measured = chosen.nanoseconds, .as_placed = candidates_[0].nanoseconds};
    if (chosen.kind != PlanReport::Shipped::as_placed) report.dissolved = chosen.dissolved;
    for (const Candidate& candidate : candidates_) {
      if (candidate.nanoseconds != PlanTimer::never && candidate.kind == PlanReport::Shipped::single_backend)
        report.single_backend[name_of(candidate.framework)] = candidate.nanoseconds;
    }
    if (chosen.kind == PlanReport::Shipped::single_backend) report.single = name_of(chosen.framework);
    if (chosen.moves_all) explain_all(chosen, result.placement);
    result.plan = std::move(report);
    return result;
  }

  std::string name_of(uint32_t target) const { return placed().targets[target].backend->name(); }

  void explain_all(const Candidate& chosen, Placement& placement) const {
    const char* what =
        chosen.kind == PlanReport::Shipped::single_backend ? "all" : "all that is not held elsewhere";
    for (size_t i = 0; i < placement.target.size(); ++i) {
      if (placement.target[i] == placed().placement.target[i]) continue;
      placement.reason[i] =
          fmt::format("{} in {}: {}, as placed {}", what, name_of(chosen.framework),
                      milliseconds(chosen.nanoseconds), milliseconds(candidates_[0].nanoseconds));
    }
  }

  const PlanTools& tools_;
  std::vector<Candidate> candidates_;  // the first is the plan as placed
};

}  // namespace

CompileResult choose_plan(CompileResult placed, const PlanTools& tools) {
  if (!is_mixed(placed)) return placed;
  placed.plan = PlanReport{.disabled_reason = tools.disabled_reason};
  if (!tools.disabled_reason.empty()) return placed;
  Result<CompileResult> chosen = PlanChooser(placed, tools).choose();
  if (chosen) return std::move(*chosen);
  placed.plan->disabled_reason = chosen.error().message;
  return placed;
}

}  // namespace intarsia
