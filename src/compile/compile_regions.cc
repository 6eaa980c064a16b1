#include "compile/compile_regions.h"

#include <set>

#include "compile/tuning.h"

namespace intarsia {

Result<CompiledRegions> compile_regions(CompileResult& result, const CompileRequest& request, const Toolbox& tools) {
  Tuning tuning(request, tools);
  CompileOptions options;
  options.threads = request.threads;
  options.cpu = request.cpu;
  options.exact_math = request.exact_math;
  options.keep_names = !request.strip_names;
  CompiledRegions compiled;
  std::set<std::string> seen;
  const std::vector<std::vector<NodeId>> readers = find_readers(result.graph);
  const int count = static_cast<int>(result.partition.regions.size());
  for (int r = 0; r < count; ++r) {
    if (tools.progress) tools.progress("compile_regions", r, count);
    const Region& region = result.partition.regions[static_cast<size_t>(r)];
    const PlacementTarget& target = result.targets[region.target];
    options.tuner = tuning.tuner_for(target.backend->name());
    Graph part = extract_subgraph(result.graph, region.nodes, readers);
    if (request.strip_names) {
      for (Node& node : part.nodes) node.name.clear();
    }
    CompiledRegion one = TRY(with_context(target.backend->compile(part, options), "region {} on {} (from node '{}')", r, target.name,
                                          result.graph.node(region.nodes[0]).name));
    for (std::string& object : one.object_files) {
      if (seen.insert(object).second) compiled.object_files.push_back(std::move(object));
    }
    one.object_files.clear();
    result.kernels.push_back(one.kernels);
    compiled.regions.push_back(std::move(one));
  }
  if (tools.progress) tools.progress("compile_regions", count, count);
  result.tuning = tuning.report();
  return compiled;
}

}  // namespace intarsia
