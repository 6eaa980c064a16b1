// Every region becomes a blob, code and constants, by its backend.
#pragma once

#include <map>
#include <utility>

#include "compile/compile_model.h"
#include "compile/tuning.h"

namespace intarsia {

struct CompiledRegions {
  std::vector<CompiledRegion> regions;
  std::vector<std::string> object_files;  // of all regions, each once
};

/// For all plans of one graph: a region that several plans share is compiled once.
class RegionCompiler {
 public:
  RegionCompiler(const CompileRequest& request, const BackendRegistry& tools, Progress progress);

  /// Fills plan.kernels and plan.tuning. Errors name the region's target and its first source node.
  Result<CompiledRegions> compile(CompileResult& plan);
  /// Compiling shows here from now on. Gives where it did.
  Progress set_progress(Progress progress) { return std::exchange(progress_, std::move(progress)); }
  const Progress& progress() const { return progress_; }
  Tuning& tuning() { return tuning_; }

 private:
  using Key = std::pair<uint32_t, std::vector<NodeId>>;  // target and nodes
  Result<const CompiledRegion*> compile_region(const CompileResult& plan, size_t region);
  void set_step_printer(const Target& backend, const Graph& region);

  const CompileRequest& request_;
  const BackendRegistry& tools_;
  Progress progress_;  // in nodes
  Tuning tuning_;
  CodegenReport codegen_;
  CompileOptions options_;
  std::vector<std::vector<NodeId>> readers_;  // of the graph, once it is known
  std::map<Key, CompiledRegion> compiled_;
};

}  // namespace intarsia
