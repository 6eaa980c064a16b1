// Compiling every region to a blob of code and constants.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "compile/refused_regions.h"
#include "compile/tuning.h"
#include "plan/plan.h"

namespace intarsia {

struct CompiledControlFlow;

struct CompiledRegions {
  std::vector<CompiledRegion> regions;
  std::vector<std::string> object_files;  // object files of all regions, each once
  TuningReport tuning;
  CodegenReport codegen;
  /// Bodies of nodes on targets that run bodies, whose regions are empty.
  std::map<NodeId, std::shared_ptr<const CompiledControlFlow>> flows = {};
};

/// Compiler of the regions of all plans of one problem; a region that several plans share is compiled once.
class RegionCompiler {
 public:
  /// Both `problem` and `refused` outlive this object; `refused` is told of regions that plug-ins refuse.
  RegionCompiler(const PlanningProblem& problem, const CompileRequest& request,
                 const CompileServices& services, Progress progress, RefusedRegions& refused);

  /// Compiles all regions of the plan. Errors name the region's target and its first source node.
  Result<CompiledRegions> compile(const Plan& plan);
  /// Compiles a plan that is loaded next, to be measured: loading it shows whether frameworks take its
  /// regions.
  Result<CompiledRegions> compile_to_measure(const Plan& plan);
  /// Notes that the plan was loaded and runs.
  void accept_loaded(const Plan& plan);
  /// Returns the region as compile() made it for any plan; null if it has not yet.
  const CompiledRegion* find(const Partition& partition, size_t number) const;
  /// Sets where compile progress is shown. Returns the previous progress.
  Progress set_progress(Progress progress) { return std::exchange(progress_, std::move(progress)); }
  const Progress& progress() const { return progress_; }
  Tuning& tuning() { return tuning_; }
  const PlanningProblem& problem() const { return problem_; }
  const CompileRequest& request() const { return request_; }
  const CompileServices& services() const { return services_; }

 private:
  /// Identity of a region: target, nodes, and layouts at the boundary.
  using Key = std::tuple<uint32_t, std::vector<NodeId>, std::map<ValueId, AxisOrder>>;
  static Key key_of(const Partition& partition, size_t number);
  Result<const CompiledRegion*> compile_region(const Partition& partition, size_t region);
  Result<CompiledRegions> compile_plan(const Plan& plan);
  Status compile_flows(const Region& region);
  Result<CompiledRegion> make_region(const Partition& partition, size_t region);
  void set_step_printer(const Target& backend, const Graph& region);

  const PlanningProblem& problem_;
  const CompileRequest& request_;
  const CompileServices& services_;
  Progress progress_;  // unit: nodes
  RefusedRegions& refused_;
  Tuning tuning_;
  CodegenReport codegen_;
  CodeCache code_cache_;
  CompileOptions options_;
  std::map<Key, CompiledRegion> compiled_;
  std::map<std::pair<uint32_t, NodeId>, std::shared_ptr<const CompiledControlFlow>> flows_;  // by target
  std::set<Key> untried_;  // compiled regions that no framework has loaded yet, so it may still refuse them
};

}  // namespace intarsia
