#include "compile/compile_regions.h"

#include <set>

namespace intarsia {

Result<CompiledRegions> compile_regions(CompileResult& result, const CompileRequest& request, const Progress& progress) {
  CompileOptions options;
  options.threads = request.threads;
  options.cpu = request.cpu;
  options.keep_names = !request.strip_names;
  CompiledRegions compiled;
  std::set<std::string> seen;
  const std::vector<std::vector<NodeId>> readers = find_readers(result.graph);
  const int count = static_cast<int>(result.partition.regions.size());
  for (int r = 0; r < count; ++r) {
    if (progress) progress("compile_regions", r, count);
    const Region& region = result.partition.regions[static_cast<size_t>(r)];
    const PlacementTarget& target = result.targets[region.target];
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
  if (progress) progress("compile_regions", count, count);
  return compiled;
}

}  // namespace intarsia
