#include "compile/compile_regions.h"

#include <algorithm>

#include "base/files/cache_folder.h"
#include "compile/compile_bodies.h"
#include "plan/partition/boundary_layouts.h"

namespace intarsia {

RegionCompiler::RegionCompiler(const PlanningProblem& problem, const CompileRequest& request,
                               const CompileServices& services, Progress progress, RefusedRegions& refused)
    : problem_(problem),
      request_(request),
      services_(services),
      progress_(std::move(progress)),
      refused_(refused),
      tuning_(request, services),
      code_cache_(cache_folder(request.cache_folder)) {
  options_.cpu = request.cpu;
  options_.exact_math = request.exact_math;
  options_.for_plain_c = request.plain_c.has_value();
  options_.rounds_to = request.rounds_to;
  options_.prefers_size = request.prefers_size;
  options_.keep_names = !request.strip_names;
  options_.codegen = &codegen_;
  options_.code_cache = &code_cache_;
  options_.is_cancelled = services.observer.is_cancelled;
}

Result<const CompiledRegion*> RegionCompiler::compile_region(const Partition& partition, size_t number) {
  TRY(check_not_cancelled(services_.observer));
  const Region& region = partition.regions[number];
  const Key key = key_of(partition, number);
  const auto known = compiled_.find(key);
  if (known != compiled_.end() && (options_.is_loaded_next || !untried_.contains(key))) return &known->second;
  const PlacementTarget& target = problem_.targets[region.target];
  Result<CompiledRegion> one = make_region(partition, number);
  if (!one) {
    const Error error = one.error();
    refused_.add(problem_, partition, number, error, [&](const Partition& parts, size_t part) -> Status {
      TRY(check_not_cancelled(services_.observer));
      TRY(make_region(parts, part));
      return {};
    });
    return with_context(Result<const CompiledRegion*>(tl::unexpected(error)),
                        "region {} on {} (from node '{}')", number, target.name,
                        problem_.graph.node(region.nodes[0]).name);
  }
  if (options_.is_loaded_next && target.backend->info().needs_framework)
    untried_.insert(key);
  else
    untried_.erase(key);
  return &compiled_.insert_or_assign(key, std::move(*one)).first->second;
}

Result<CompiledRegion> RegionCompiler::make_region(const Partition& partition, size_t number) {
  const Region& region = partition.regions[number];
  const PlacementTarget& target = problem_.targets[region.target];
  if (target.backend->info().runs_bodies) {
    TRY(compile_flows(region));
    return CompiledRegion();
  }
  Graph part = extract_region(problem_.graph, partition, number);
  if (request_.strip_names) {
    for (Node& node : part.nodes) node.name.clear();
  }
  options_.progress = progress_.part(static_cast<double>(region.nodes.size()));
  options_.progress.begin("compile_regions");
  options_.threads = problem_.slots[target.slot].threads(request_.threads);
  // The limit is for all that is in the memory: a region that is alone there can be made smaller.
  const uint64_t limit = problem_.memory_limit(problem_.space_of_target[region.target]);
  options_.memory_bytes = partition.regions.size() == 1 && limit != no_limit ? limit : 0;
  options_.tuner = tuning_.tuner_for(target.backend->name());
  set_step_printer(*target.backend, part);
  return with_kind(ErrorKind::unsupported, target.backend->compile(part, target.device, options_));
}

/// Compiles the bodies of the region's nodes.
Status RegionCompiler::compile_flows(const Region& region) {
  for (NodeId node : region.nodes) {
    std::shared_ptr<const CompiledControlFlow>& flow = flows_[{region.target, node}];
    if (flow == nullptr) flow = TRY(compile_bodies(problem_, node, region.target, request_, services_));
  }
  return {};
}

/// Sets the printer of backend steps, which names a region by its first node.
void RegionCompiler::set_step_printer(const Target& backend, const Graph& region) {
  options_.print_step = {};
  const std::string prefix = backend.name() + ".";
  const bool is_asked = std::ranges::any_of(
      request_.print_after, [&](const std::string& name) { return name.starts_with(prefix); });
  if (!services_.observer.print || !is_asked) return;
  options_.print_step = [this, prefix, first = region.nodes[0].name](std::string_view step,
                                                                     const std::string& text) {
    const std::string name = fmt::format("{}{}", prefix, step);
    if (std::ranges::find(request_.print_after, name) != request_.print_after.end())
      services_.observer.print(
          fmt::format("# after {} of the region from node '{}'\n{}\n", name, first, text));
  };
}

RegionCompiler::Key RegionCompiler::key_of(const Partition& partition, size_t number) {
  const Region& region = partition.regions[number];
  return {region.target, region.nodes, layouts_of_region(partition, number)};
}

const CompiledRegion* RegionCompiler::find(const Partition& partition, size_t number) const {
  const auto known = compiled_.find(key_of(partition, number));
  return known == compiled_.end() ? nullptr : &known->second;
}

Result<CompiledRegions> RegionCompiler::compile(const Plan& plan) {
  options_.is_loaded_next = false;
  return compile_plan(plan);
}

Result<CompiledRegions> RegionCompiler::compile_to_measure(const Plan& plan) {
  options_.is_loaded_next = true;
  return compile_plan(plan);
}

void RegionCompiler::accept_loaded(const Plan& plan) {
  for (size_t r = 0; r < plan.partition.regions.size(); ++r) untried_.erase(key_of(plan.partition, r));
}

Result<CompiledRegions> RegionCompiler::compile_plan(const Plan& plan) {
  CompiledRegions compiled;
  std::set<std::string> seen;
  const std::vector<Region>& regions = plan.partition.regions;
  for (size_t r = 0; r < regions.size(); ++r) {
    if (find(plan.partition, r) == nullptr) progress_.expect(static_cast<double>(regions[r].nodes.size()));
  }
  for (size_t r = 0; r < regions.size(); ++r) {
    CompiledRegion one = *TRY(compile_region(plan.partition, r));
    for (std::string& object : one.object_files) {
      if (seen.insert(object).second) compiled.object_files.push_back(std::move(object));
    }
    one.object_files.clear();
    for (NodeId node : regions[r].nodes)
      if (const auto flow = flows_.find({regions[r].target, node}); flow != flows_.end())
        compiled.flows[node] = flow->second;
    compiled.regions.push_back(std::move(one));
  }
  compiled.tuning = tuning_.report();
  compiled.codegen = codegen_;
  return compiled;
}

}  // namespace intarsia
