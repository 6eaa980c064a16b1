// Every region becomes a blob, code and constants, by its backend.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "compile/tuning.h"
#include "plan/plan.h"

namespace intarsia {

struct CompiledRegions {
  std::vector<CompiledRegion> regions;
  std::vector<std::string> object_files;  // of all regions, each once
  TuningReport tuning;
  CodegenReport codegen;
};

/// For all plans of one problem: a region that several plans share is compiled once.
class RegionCompiler {
 public:
  /// `problem` outlives this.
  RegionCompiler(const PlanningProblem& problem, const CompileRequest& request, const BackendRegistry& tools,
                 Progress progress);

  /// Errors name the region's target and its first source node.
  Result<CompiledRegions> compile(const Plan& plan);
  /// The same of a plan that is loaded next, to be measured: whether frameworks take its regions is found
  /// then.
  Result<CompiledRegions> compile_to_measure(const Plan& plan);
  /// It was loaded, and runs.
  void accept_loaded(const Plan& plan);
  /// The region as compile() made it for some plan; null: it did not yet.
  const CompiledRegion* find(const Partition& partition, size_t number) const;
  /// Compiling shows here from now on. Gives where it did.
  Progress set_progress(Progress progress) { return std::exchange(progress_, std::move(progress)); }
  const Progress& progress() const { return progress_; }
  Tuning& tuning() { return tuning_; }

 private:
  /// Target, nodes, and layouts at the boundary.
  using Key = std::tuple<uint32_t, std::vector<NodeId>, std::map<ValueId, AxisOrder>>;
  static Key key_of(const Partition& partition, size_t number);
  Result<const CompiledRegion*> compile_region(const Partition& partition, size_t region);
  Result<CompiledRegions> compile_plan(const Plan& plan);
  void set_step_printer(const Target& backend, const Graph& region);

  const PlanningProblem& problem_;
  const CompileRequest& request_;
  const BackendRegistry& tools_;
  Progress progress_;  // in nodes
  Tuning tuning_;
  CodegenReport codegen_;
  CompileOptions options_;
  std::map<Key, CompiledRegion> compiled_;
  std::set<Key> untried_;  // of those: nobody knows yet whether their framework takes them
};

}  // namespace intarsia
