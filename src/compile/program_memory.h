// What programs take of memories, before they are written.
#pragma once

#include <map>
#include <utility>

#include "compile/build_function.h"
#include "plan/memory_use.h"

namespace intarsia {

/// Of constants, which outlive this; each is read once.
class ConstantDigests {
 public:
  uint64_t digest(const TensorView& constant);

 private:
  std::map<std::pair<const void*, size_t>, uint64_t> known_;  // by address and bytes
};

/// By space: the constants of all functions, equal ones once, as binding places them, and the largest of
/// their arenas, which a session has one of, or of those of all stages together, where that is more.
/// Alternatives do not count: they run instead.
Result<std::vector<MemoryUse>> measure_memory(const std::vector<FunctionParts>& functions,
                                              ConstantDigests& digests);

/// What plans of one function take. What it is made with outlives it.
class MemoryMeter {
 public:
  MemoryMeter(const std::string& function, const PlanningProblem& problem, RegionCompiler& compiler)
      : function_(function), problem_(problem), compiler_(compiler) {}

  /// Compiles the plan.
  Result<std::vector<MemoryUse>> measure(const Plan& plan);

  /// Of regions that no plan had so far constants count as in the model, and workspaces as the most bytes of
  /// values within that are alive at once, each in proportion to what was estimated and measured before.
  Result<std::vector<MemoryUse>> estimate(const Plan& plan);

 private:
  struct Proportion {
    double measured = 0, estimated = 0;
  };
  using Proportions = std::map<const Target*, Proportion>;

  CompiledRegion guess_region(const Partition& partition, size_t region) const;
  double scale(const Proportions& proportions, const Region& region, double bytes) const;

  const std::string& function_;
  const PlanningProblem& problem_;
  RegionCompiler& compiler_;
  ConstantDigests digests_;
  Proportions workspaces_, constants_;
};

}  // namespace intarsia
