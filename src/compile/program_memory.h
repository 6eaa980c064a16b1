// Memory that programs and plans take.
#pragma once

#include <map>
#include <utility>

#include "compile/build_function.h"
#include "plan/memory_use.h"

namespace intarsia {

/// Returns the bytes, by space, that a session of a function needs for values between regions and for
/// workspaces; what depends on open sizes counts as open_memory.h says.
std::vector<uint64_t> arena_bytes(const fbs::ProgramT& program, const fbs::FunctionT& function);

/// Returns the memory use of each space by one function of a program whose constants are laid out: its
/// constants, equal ones once, as binding places them; and its arena, since a session has one, or those of
/// all stages together if that is more. Alternatives do not count, since they run instead.
std::vector<MemoryUse> measure_memory(const fbs::ProgramT& program, const fbs::FunctionT& function);
/// Returns the memory use by all functions: all their constants, and the largest of their arenas.
std::vector<MemoryUse> measure_memory(const fbs::ProgramT& program);

/// Adds what is known of the memory within the region of a plan that has one.
void describe_only_region(const PlanningProblem& problem, const Partition& partition,
                          const CompiledRegions& regions, std::vector<MemoryUse>& uses);

/// Digests of constants, which outlive this object; each constant is read once.
class ConstantDigests {
 public:
  uint64_t digest(const TensorView& constant);

 private:
  std::map<std::pair<const void*, size_t>, uint64_t> known_;  // keyed by address and bytes
};

/// Returns the memory use of each space by a program with this one function, without describing it.
Result<std::vector<MemoryUse>> measure_memory(const FunctionParts& parts, ConstantDigests& digests);

/// Memory meter for plans of one function that are not part of a program yet. Its constructor arguments
/// outlive it.
class MemoryMeter {
 public:
  MemoryMeter(const std::string& function, RegionCompiler& compiler)
      : function_(function), problem_(compiler.problem()), compiler_(compiler) {}

  /// Compiles the plan and measures it. With stages, measures what the sessions of all their executors need
  /// together.
  Result<std::vector<MemoryUse>> measure(const Plan& plan, const std::vector<ChosenStage>& stages = {});

  /// Estimates without compiling. For regions not compiled yet, constants count as in the model and
  /// workspaces as the peak bytes of values alive within, each scaled by the ratio of earlier measurements to
  /// their estimates.
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
