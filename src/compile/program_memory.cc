#include "compile/program_memory.h"

#include <algorithm>
#include <set>

#include "base/digest.h"
#include "compile/compile_bodies.h"
#include "compile/open_memory.h"
#include "program/verify_function.h"

namespace intarsia {
namespace {

/// Returns the peak bytes of values alive at once that nothing outside the region sees.
size_t peak_within(const Graph& graph, const Region& region, const Boundary& boundary) {
  std::map<ValueId, size_t> last_use;
  for (size_t i = 0; i < region.nodes.size(); ++i) {
    for (ValueId id : values_read(graph.node(region.nodes[i]))) last_use[id] = i;
  }
  const std::set<ValueId> outputs(boundary.outputs.begin(), boundary.outputs.end());
  const std::map<std::string, Dim> sizes = graph.counted_sizes();
  std::vector<size_t> freed(region.nodes.size() + 1, 0);
  size_t alive = 0, most = 0;
  for (size_t i = 0; i < region.nodes.size(); ++i) {
    for (ValueId id : graph.node(region.nodes[i]).outputs) {
      if (id == no_value || outputs.contains(id)) continue;
      const size_t bytes =
          round_up(std::min(graph.bytes_at(id, sizes).value_or(0), max_arena_bytes), tail_alignment);
      alive += bytes;
      freed[last_use.contains(id) ? last_use[id] : i] += bytes;
    }
    most = std::max(most, alive);
    alive -= freed[i];
  }
  return most;
}

/// Returns the constants of a region as in the model, each once.
std::vector<Tensor> constants_of(const Graph& graph, const Region& region) {
  std::set<ValueId> seen;
  std::vector<Tensor> constants;
  for (NodeId node : region.nodes) {
    for (ValueId id : values_read(graph.node(node))) {
      if (graph.value(id).constant && seen.insert(id).second) constants.push_back(*graph.value(id).constant);
    }
  }
  return constants;
}

double total_bytes(const std::vector<Tensor>& constants) {
  double bytes = 0;
  for (const Tensor& constant : constants) bytes += static_cast<double>(constant.bytes());
  return bytes;
}

/// Memory placed in each space so far.
class MemoryCounter {
 public:
  MemoryCounter(size_t spaces, ConstantDigests& digests) : uses_(spaces), seen_(spaces), digests_(digests) {}

  void add_constant(uint32_t space, const TensorView& constant) {
    if (constant.dtype == DType::string || constant.bytes() == 0) return;
    if (seen_[space].emplace(digests_.digest(constant), constant.bytes()).second)
      uses_[space].constants += constant.bytes();
  }

  void add_arenas(const std::vector<uint64_t>& bytes) {
    for (size_t space = 0; space < uses_.size(); ++space)
      uses_[space].arena = std::max(uses_[space].arena, bytes[space]);
  }

  std::vector<MemoryUse> take() { return std::move(uses_); }

 private:
  std::vector<MemoryUse> uses_;
  std::vector<std::set<std::pair<uint64_t, size_t>>> seen_;  // digest and bytes, by space
  ConstantDigests& digests_;
};

/// Returns the bytes of a session's arenas, by space, with what depends on open sizes.
std::vector<uint64_t> arenas_of(const FunctionParts& parts, const fbs::FunctionT& function,
                                const fbs::FunctionT& whole) {
  return counted_arena_bytes(function, whole, [&](uint32_t region) {
    const uint32_t target = parts.plan.partition.regions[region].target;
    return RegionWorkspace{parts.problem.space_of_target[target],
                           open_workspace_bytes(parts.regions.regions[region], parts.problem.graph)};
  });
}

/// Adds the memory of the bodies of branches and loops, which is the host's.
Status add_bodies(const CompiledRegions& regions, MemoryCounter& counter, std::vector<uint64_t>& arenas) {
  for (const auto& [node, flow] : regions.flows) {
    for (const CompiledFunction& body : flow->bodies) {
      const FunctionParts parts{body.name, *body.problem, body.chosen.plan, body.regions, std::nullopt, {}};
      for (const CompiledRegion& region : body.regions.regions)
        for (const Tensor& constant : region.constants) counter.add_constant(host_memory, constant.view());
      const BuiltFunction built = TRY(build_function(parts, 0, 0));
      arenas[host_memory] += arenas_of(parts, built.function, built.function)[host_memory];
      TRY(add_bodies(body.regions, counter, arenas));
    }
  }
  return {};
}

/// Returns, by space, the arena bytes of all sessions of all stages together.
Result<std::vector<uint64_t>> arenas_of_stages(const FunctionParts& parts, const fbs::FunctionT& whole) {
  std::vector<uint64_t> bytes(parts.problem.spaces.size());
  for (size_t i = 0; i < parts.stages.size(); ++i) {
    const BuiltFunction built = TRY(build_stage(parts, i, 0, 0));
    const std::vector<uint64_t> arenas = arenas_of(parts, built.function, whole);
    const size_t sessions = parts.stages[i].executors.size() * parts.stages[i].frames;
    for (size_t space = 0; space < bytes.size(); ++space) bytes[space] += sessions * arenas[space];
  }
  return bytes;
}

std::vector<uint64_t> arena_bytes(const fbs::ProgramT& program, const fbs::FunctionT& function,
                                  const fbs::FunctionT& whole);

/// Returns the bytes of a carried value's second piece of memory, if they are known.
uint64_t second_bytes(const fbs::ValueT& carried) {
  const bool is_fixed =
      !carried.rank_unknown && std::ranges::all_of(carried.dims, [](int64_t size) { return size >= 0; });
  if (!is_fixed) return 0;
  return dtype_bytes(static_cast<DType>(carried.dtype), static_cast<size_t>(element_count(carried.dims)));
}

/// Adds the memory of the bodies of branches and loops, which is their own.
void add_bodies(const fbs::ProgramT& program, const fbs::FunctionT& function, std::vector<uint64_t>& bytes) {
  for (const auto& step : function.steps) {
    for (const auto& body : step->bodies) {
      const std::vector<uint64_t> inner = arena_bytes(program, *body, *body);
      for (size_t space = 0; space < bytes.size(); ++space) bytes[space] += inner[space];
    }
    for (size_t i = 0; i < step->carried; ++i)
      bytes[host_space] += second_bytes(*function.values[step->outputs[i]]);
  }
}

/// Returns the bytes of a session's arenas, by space, with what depends on open sizes.
std::vector<uint64_t> arena_bytes(const fbs::ProgramT& program, const fbs::FunctionT& function,
                                  const fbs::FunctionT& whole) {
  std::vector<uint64_t> bytes = counted_arena_bytes(function, whole, [&](uint32_t number) {
    const fbs::RegionT& region = *program.regions[number];
    return RegionWorkspace{program.slots[region.slot]->space, region.open_workspace_bytes};
  });
  add_bodies(program, function, bytes);
  return bytes;
}

/// Memory that the functions of a program take, from its description.
class DescribedMemory {
 public:
  explicit DescribedMemory(const fbs::ProgramT& program)
      : program_(program), uses_(program.spaces.size()), seen_(program.spaces.size()) {}

  void add(const fbs::FunctionT& function) {
    for (const auto& value : function.values)
      if (value->storage == fbs::Storage::constant) add_constant(value->space, value->constant);
    add_regions(function);
    add_arenas(arena_bytes(program_, function, function));
    std::vector<uint64_t> stages(uses_.size(), 0);
    for (const auto& stage : function.stages) {
      const std::vector<uint64_t> arenas = arena_bytes(program_, *stage->function, function);
      const uint64_t sessions = stage->executors.size() * std::max<uint64_t>(stage->frames, 1);
      for (size_t space = 0; space < stages.size(); ++space) stages[space] += sessions * arenas[space];
    }
    add_arenas(stages);
    for (const auto& specialization : function.specializations) add(*specialization);
  }

  std::vector<MemoryUse> take() { return std::move(uses_); }

 private:
  /// Adds the constants of the regions that the function and its bodies run.
  void add_regions(const fbs::FunctionT& function) {
    for (const auto& step : function.steps) {
      for (const auto& body : step->bodies) add_regions(*body);
      if (step->kind != fbs::StepKind::run) continue;
      const fbs::RegionT& region = *program_.regions[step->region];
      for (uint32_t constant : region.constants) add_constant(program_.slots[region.slot]->space, constant);
    }
  }

  void add_arenas(const std::vector<uint64_t>& bytes) {
    for (size_t space = 0; space < uses_.size(); ++space)
      uses_[space].arena = std::max(uses_[space].arena, bytes[space]);
  }

  void add_constant(uint32_t space, uint32_t number) {
    const fbs::ConstantT& constant = *program_.constants[number];
    if (constant.dtype == static_cast<uint8_t>(DType::string)) return;
    if (constant.bytes > 0 && seen_[space].insert(constant.offset).second)
      uses_[space].constants += constant.bytes;
  }

  const fbs::ProgramT& program_;
  std::vector<MemoryUse> uses_;
  std::vector<std::set<uint64_t>> seen_;  // offsets by space: equal constants are stored once
};

}  // namespace

uint64_t ConstantDigests::digest(const TensorView& constant) {
  const auto [known, is_new] = known_.try_emplace({constant.data, constant.bytes()});
  if (is_new) known->second = digest_bytes({static_cast<const std::byte*>(constant.data), constant.bytes()});
  return known->second;
}

std::vector<uint64_t> arena_bytes(const fbs::ProgramT& program, const fbs::FunctionT& function) {
  return arena_bytes(program, function, function);
}

std::vector<MemoryUse> measure_memory(const fbs::ProgramT& program, const fbs::FunctionT& function) {
  DescribedMemory memory(program);
  memory.add(function);
  return memory.take();
}

std::vector<MemoryUse> measure_memory(const fbs::ProgramT& program) {
  DescribedMemory memory(program);
  for (const auto& function : program.functions) memory.add(*function);
  return memory.take();
}

void describe_only_region(const PlanningProblem& problem, const Partition& partition,
                          const CompiledRegions& regions, std::vector<MemoryUse>& uses) {
  if (regions.regions.size() != 1) return;
  const CompiledRegion& only = regions.regions[0];
  MemoryUse& use = uses[problem.space_of_target[partition.regions[0].target]];
  use.peak = only.peak, use.scratch = only.scratch_bytes, use.stack = only.stack_bytes;
}

Result<std::vector<MemoryUse>> measure_memory(const FunctionParts& parts, ConstantDigests& digests) {
  MemoryCounter counter(parts.problem.spaces.size(), digests);
  for (size_t r = 0; r < parts.regions.regions.size(); ++r) {
    const uint32_t space = parts.problem.space_of_target[parts.plan.partition.regions[r].target];
    for (const Tensor& constant : parts.regions.regions[r].constants)
      counter.add_constant(space, constant.view());
  }
  const BuiltFunction built = TRY(build_function(parts, 0, 0));
  for (ValueId id : built.constants)
    counter.add_constant(host_memory, parts.problem.graph.value(id).constant->view());
  std::vector<uint64_t> arenas = arenas_of(parts, built.function, built.function);
  TRY(add_bodies(parts.regions, counter, arenas));
  counter.add_arenas(arenas);
  if (!parts.stages.empty()) counter.add_arenas(TRY(arenas_of_stages(parts, built.function)));
  std::vector<MemoryUse> uses = counter.take();
  if (parts.stages.empty()) describe_only_region(parts.problem, parts.plan.partition, parts.regions, uses);
  return uses;
}

Result<std::vector<MemoryUse>> MemoryMeter::measure(const Plan& plan,
                                                    const std::vector<ChosenStage>& stages) {
  std::vector<bool> is_new;
  for (size_t r = 0; r < plan.partition.regions.size(); ++r)
    is_new.push_back(compiler_.find(plan.partition, r) == nullptr);
  const CompiledRegions compiled = TRY(compiler_.compile_to_measure(plan));
  for (size_t r = 0; r < is_new.size(); ++r) {
    const Region& region = plan.partition.regions[r];
    if (!is_new[r]) continue;
    const Target* backend = problem_.targets[region.target].backend;
    Proportion& workspace = workspaces_[backend];
    workspace.measured += static_cast<double>(compiled.regions[r].workspace_bytes +
                                              open_workspace_bytes(compiled.regions[r], problem_.graph));
    workspace.estimated +=
        static_cast<double>(peak_within(problem_.graph, region, plan.partition.boundaries[r]));
    Proportion& constants = constants_[backend];
    constants.measured += total_bytes(compiled.regions[r].constants);
    constants.estimated += total_bytes(constants_of(problem_.graph, region));
  }
  return measure_memory({function_, problem_, plan, compiled, std::nullopt, {}, {}, {}, stages}, digests_);
}

CompiledRegion MemoryMeter::guess_region(const Partition& partition, size_t number) const {
  const Region& region = partition.regions[number];
  const auto peak = static_cast<double>(peak_within(problem_.graph, region, partition.boundaries[number]));
  CompiledRegion guess;
  guess.workspace_bytes = static_cast<size_t>(scale(workspaces_, region, peak));
  guess.constants = constants_of(problem_.graph, region);
  return guess;
}

double MemoryMeter::scale(const Proportions& proportions, const Region& region, double bytes) const {
  const auto known = proportions.find(problem_.targets[region.target].backend);
  return known == proportions.end() || known->second.estimated == 0
             ? bytes
             : bytes * known->second.measured / known->second.estimated;
}

Result<std::vector<MemoryUse>> MemoryMeter::estimate(const Plan& plan) {
  CompiledRegions regions;
  std::vector<double> growth(problem_.spaces.size(), 0);  // growth of constants by rearranging them
  for (size_t r = 0; r < plan.partition.regions.size(); ++r) {
    const Region& region = plan.partition.regions[r];
    CompiledRegion& filled = regions.regions.emplace_back();
    if (const CompiledRegion* known = compiler_.find(plan.partition, r)) {
      filled.constants = known->constants;
      filled.workspace_bytes = known->workspace_bytes;
      filled.open_workspace = known->open_workspace;
      continue;
    }
    filled = guess_region(plan.partition, r);
    const double bytes = total_bytes(filled.constants);
    growth[problem_.space_of_target[region.target]] += scale(constants_, region, bytes) - bytes;
  }
  std::vector<MemoryUse> uses =
      TRY(measure_memory({function_, problem_, plan, regions, std::nullopt, {}}, digests_));
  for (size_t space = 0; space < uses.size(); ++space) {
    const double bytes = static_cast<double>(uses[space].constants) + growth[space];
    uses[space].constants = static_cast<uint64_t>(std::max(bytes, 0.0));
  }
  return uses;
}

}  // namespace intarsia
