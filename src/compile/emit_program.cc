#include "compile/emit_program.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/add_once.h"
#include "base/byte_size.h"
#include "base/cpu_level.h"
#include "base/digest.h"
#include "base/files/mapped_file.h"
#include "compile/build_function.h"
#include "compile/compile_bodies.h"
#include "compile/drop_unused_slots.h"
#include "compile/kernel_notes.h"
#include "compile/link_objects.h"
#include "compile/open_memory.h"
#include "compile/program_memory.h"
#include "import/import_model.h"
#include "program/verify_machine.h"

namespace intarsia {
namespace {

void describe_slots(const PlanningProblem& problem, fbs::ProgramT& program) {
  for (size_t i = 0; i < problem.spaces.size(); ++i) {
    auto space = std::make_unique<fbs::SpaceT>();
    space->name = problem.spaces[i];
    space->kind = host_space_kind;
    program.spaces.push_back(std::move(space));
  }
  for (const DeviceSlot& slot : problem.slots) {
    program.spaces[slot.space]->kind = slot.is_on_host ? host_space_kind : space_kind(slot.kind);
    auto entry = std::make_unique<fbs::SlotT>();
    entry->name = slot.name;
    entry->kind = slot.kind;
    entry->device = slot.device;
    entry->space = slot.space;
    program.slots.push_back(std::move(entry));
  }
}

/// Returns the names of slots that the user did not ask for by name.
std::set<std::string> automatic_slots(const CompileRequest& request) {
  std::set<std::string> names;
  for (const CandidateDevice& device : request.automatic) names.insert(device.name);
  return names;
}

Status describe_source(const std::vector<FunctionParts>& functions, const CompileRequest& request,
                       fbs::ProgramT& program) {
  std::error_code error;
  program.model_path = std::filesystem::absolute(request.model_path, error).string();
  program.model_digest = digest_bytes(TRY(map_file(main_file(request.model_path))).bytes);
  for (const FunctionParts& function : functions) {
    const Graph& graph = function.problem.graph;
    for (ValueId input : graph.inputs) {
      const Value& value = graph.value(input);
      if (std::optional<Shape> shape = value.type.fixed_shape())
        program.shapes.push_back(value.name + "=" + print_shape(*shape));
    }
  }
  return {};
}

/// The parts of a program that grow with its functions. Numbers count over all of them.
class ProgramEmitter {
 public:
  explicit ProgramEmitter(const CompileRequest& request) : request_(request) {}

  /// Appends the parts of one plan, without its alternatives and specializations.
  Result<std::unique_ptr<fbs::FunctionT>> add(const FunctionParts& parts) {
    const auto first_region = static_cast<uint32_t>(program.regions.size());
    const auto first_node = static_cast<uint32_t>(program.nodes.size());
    describe_nodes(parts, first_region);
    describe_regions(parts, first_node);
    BuiltFunction built = TRY(build_function(parts, first_region, static_cast<uint32_t>(constants.size())));
    add_constants(parts, built);
    for (const CompiledRegion& region : parts.regions.regions) {
      blobs.push_back(region.blob);
      calls.push_back(region.calls);
    }
    objects.insert(parts.regions.object_files.begin(), parts.regions.object_files.end());
    describe_plugins(parts);
    built.function.measured_ns = static_cast<uint64_t>(parts.measured.value_or(0));
    built.function.notes = parts.notes;
    if (parts.range) built.function.ranges.push_back(describe_range(*parts.range));
    TRY(add_bodies(built));
    TRY(add_stages(parts, first_region, built.function));
    return std::make_unique<fbs::FunctionT>(std::move(built.function));
  }

  /// Adds all functions; the regions of preferred plans come before those of all other plans.
  Status add_functions(const std::vector<FunctionParts>& functions) {
    describe_slots(functions[0].problem, program);
    for (const FunctionParts& parts : functions) {
      program.functions.push_back(TRY(add(parts)));
      if (!parts.problem.graph.open_sizes.empty()) need(std::string(symbols_feature));
    }
    for (size_t i = 0; i < functions.size(); ++i) {
      std::set<std::string> required = frameworks_of(functions[i]);
      for (const FunctionParts& alternative : functions[i].alternatives) {
        program.functions[i]->alternatives.push_back(TRY(add(alternative)));
        need(std::string(alternatives_feature));
        const std::set<std::string> others = frameworks_of(alternative);
        std::erase_if(required, [&](const std::string& name) { return !others.contains(name); });
      }
      requirements_.insert(required.begin(), required.end());
      for (const FunctionParts& specialization : functions[i].specializations)
        program.functions[i]->specializations.push_back(TRY(add(specialization)));
    }
    program.requirements.assign(requirements_.begin(), requirements_.end());
    return {};
  }

  /// Returns the program, with its constants laid out.
  DescribedProgram finish() {
    ConstantLayout layout = lay_out_constants(program, constants);
    return {std::move(program), std::move(layout), std::move(blobs), std::move(calls), std::move(objects)};
  }

  fbs::ProgramT program;
  std::vector<TensorView> constants;
  std::vector<std::string> blobs;                         // indexed by region
  std::vector<std::shared_ptr<const RegionCalls>> calls;  // likewise
  std::set<std::string> objects;                          // contents of ELF files

 private:
  void add_constants(const FunctionParts& parts, const BuiltFunction& built) {
    for (ValueId id : built.constants) constants.push_back(parts.problem.graph.value(id).constant->view());
  }

  /// Gives the steps of branches and loops their bodies, whose regions follow those of the function.
  Status add_bodies(BuiltFunction& built) {
    for (const auto& step : built.function.steps) {
      if (!has_bodies(*step)) continue;
      need(std::string(calls_feature));
      for (const CompiledFunction& body : built.flows.at(step->outputs[0])->bodies)
        step->bodies.push_back(TRY(add_body(body)));
    }
    return {};
  }

  /// Adds a body. One that several functions run has its regions once.
  Result<std::unique_ptr<fbs::FunctionT>> add_body(const CompiledFunction& body) {
    const FunctionParts parts{body.name, *body.problem, body.chosen.plan, body.regions, std::nullopt, {}};
    const auto [known, is_new] =
        first_regions_.try_emplace(&body, static_cast<uint32_t>(program.regions.size()));
    if (is_new) return add(parts);
    BuiltFunction built = TRY(build_function(parts, known->second, static_cast<uint32_t>(constants.size())));
    add_constants(parts, built);
    TRY(add_bodies(built));
    return std::make_unique<fbs::FunctionT>(std::move(built.function));
  }

  Status add_stages(const FunctionParts& parts, uint32_t first_region, fbs::FunctionT& function) {
    for (size_t i = 0; i < parts.stages.size(); ++i) {
      const ChosenStage& chosen = parts.stages[i];
      BuiltFunction built = TRY(build_stage(parts, i, first_region, static_cast<uint32_t>(constants.size())));
      add_constants(parts, built);
      TRY(add_bodies(built));
      auto stage = std::make_unique<fbs::StageT>();
      stage->slot = chosen.slot;
      stage->executors = chosen.executors;
      stage->frames = static_cast<uint8_t>(chosen.frames);
      stage->predicted_ns = static_cast<uint64_t>(chosen.predicted.value_or(0));
      built.function.measured_ns = static_cast<uint64_t>(chosen.measured.value_or(0));
      stage->function = std::make_unique<fbs::FunctionT>(std::move(built.function));
      function.stages.push_back(std::move(stage));
    }
    return {};
  }

  void describe_nodes(const FunctionParts& parts, uint32_t first_region) {
    const Graph& graph = parts.problem.graph;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      auto note = std::make_unique<fbs::NodeNoteT>();
      note->name = request_.strip_names ? "" : graph.nodes[i].name;
      note->op = graph.nodes[i].op;
      note->region = first_region + parts.plan.partition.region_of[i];
      note->reason = parts.plan.placement.nodes[i].reason;
      note->refusals = parts.plan.placement.nodes[i].refusals;
      program.nodes.push_back(std::move(note));
    }
  }

  /// Describes the regions and collects their constants.
  void describe_regions(const FunctionParts& parts, uint32_t first_node) {
    for (size_t r = 0; r < parts.regions.regions.size(); ++r) {
      const CompiledRegion& region = parts.regions.regions[r];
      const PlacementTarget& target = parts.problem.targets[parts.plan.partition.regions[r].target];
      auto entry = std::make_unique<fbs::RegionT>();
      entry->backend = target.backend->name();
      entry->slot = target.slot;
      entry->workspace_bytes = region.workspace_bytes;
      entry->open_workspace_bytes = open_workspace_bytes(region, parts.problem.graph);
      if (!parts.region_costs.empty()) {
        entry->measured_ns = static_cast<uint64_t>(parts.region_costs[r].measured.value_or(0));
        entry->predicted_ns = static_cast<uint64_t>(parts.region_costs[r].predicted.value_or(0));
      }
      entry->kernel_notes = pack_kernel_notes(parts, r, first_node, !request_.strip_names);
      for (const WeightGrowth& growth : region.growths) {
        auto grown = std::make_unique<fbs::GrowthT>();
        grown->why = growth.why;
        grown->bytes = growth.bytes;
        entry->growths.push_back(std::move(grown));
      }
      for (const Tensor& constant : region.constants) {
        entry->constants.push_back(static_cast<uint32_t>(constants.size()));
        constants.push_back(constant.view());
      }
      program.regions.push_back(std::move(entry));
    }
  }

  static std::unique_ptr<fbs::SymbolRangeT> describe_range(const SymbolRange& range) {
    auto described = std::make_unique<fbs::SymbolRangeT>();
    described->symbol = static_cast<uint32_t>(range.symbol);
    described->min = static_cast<uint64_t>(range.min);
    described->max = static_cast<uint64_t>(range.max);
    return described;
  }

  void describe_plugins(const FunctionParts& parts) {
    for (const Region& region : parts.plan.partition.regions) {
      const Target& backend = *parts.problem.targets[region.target].backend;
      const auto is_this = [&](const auto& known) { return known->name == backend.name(); };
      if (!backend.info().is_plugin || std::ranges::any_of(program.plugins, is_this)) continue;
      auto entry = std::make_unique<fbs::PluginT>();
      entry->name = backend.name();
      entry->version = backend.version();
      program.plugins.push_back(std::move(entry));
    }
  }

  static std::set<std::string> frameworks_of(const FunctionParts& parts) {
    std::set<std::string> names;
    for (const Region& region : parts.plan.partition.regions) {
      const TargetInfo& info = parts.problem.targets[region.target].backend->info();
      if (info.needs_framework) names.insert(info.name);
    }
    return names;
  }

  const CompileRequest& request_;
  void need(const std::string& feature) {
    if (std::ranges::find(program.needs, feature) == program.needs.end()) program.needs.push_back(feature);
  }

  std::set<std::string> requirements_;
  std::map<const CompiledFunction*, uint32_t> first_regions_;  // of bodies
};

/// Adds the features of the CPU that the code of regions, and of their nodes' bodies, needs.
void add_cpu_features(const CompiledRegions& regions, std::vector<std::string>& features) {
  for (const CompiledRegion& region : regions.regions)
    for (const std::string& feature : region.cpu_features) add_once(features, feature);
  for (const auto& [node, flow] : regions.flows)
    for (const CompiledFunction& body : flow->bodies) add_cpu_features(body.regions, features);
}

/// Memory that a process of 32 bits has for constants and values: the rest of its 4 GB is the system's, the
/// code's, and that of inputs and outputs.
constexpr uint64_t most_bytes_of_32_bits = uint64_t{2} << 30;

/// Checks that addresses on the machine that runs the program reach all it needs.
Status check_addresses(const fbs::ProgramT& program, Arch arch) {
  if (pointer_bytes(arch) > 4) return {};
  uint64_t bytes = 0;
  for (const MemoryUse& use : measure_memory(program)) bytes += use.total();
  if (bytes <= most_bytes_of_32_bits) return {};
  return fail(ErrorKind::unsupported,
              "the program needs {} of constants and working memory, and a process on {} has {} for them: "
              "compile for a machine with 64 bits (--arch aarch64), or a smaller model",
              print_byte_size(bytes), arch_name(arch), print_byte_size(most_bytes_of_32_bits));
}

}  // namespace

uint64_t DescribedProgram::constants_bytes() const {
  uint64_t bytes = 0;
  std::set<uint64_t> seen;  // offsets: equal constants are stored once
  for (const auto& constant : description.constants) {
    if (constant->dtype == static_cast<uint8_t>(DType::string) || constant->bytes == 0) continue;
    if (seen.insert(constant->offset).second) bytes += constant->bytes;
  }
  return bytes;
}

Result<DescribedProgram> describe_program(const std::vector<FunctionParts>& functions,
                                          const CompileRequest& request) {
  ProgramEmitter emitter(request);
  TRY(emitter.add_functions(functions));
  fbs::ProgramT& program = emitter.program;
  TRY(describe_source(functions, request, program));
  program.threads = static_cast<uint32_t>(request.threads);
  if (request.rounds_to != DType::f32) program.precision = dtype_name(request.rounds_to);
  const CodeTarget target = TRY(resolve_cpu(request.cpu));
  program.arch = arch_name(target.arch);
  if (!emitter.objects.empty()) {
    // Times of plain C are of the processor that was named: its kernels differ from others' of its level.
    program.cpu = request.plain_c ? request.cpu : target.level;
    program.cpu_features = features_of_cpu_level(target.level);
    for (const FunctionParts& function : functions) add_cpu_features(function.regions, program.cpu_features);
  }
  DescribedProgram described = emitter.finish();
  TRY(check_addresses(described.description, target.arch));
  return described;
}

Result<ProgramSize> write_described(DescribedProgram program, const CompileRequest& request) {
  drop_unused_slots(program.description, automatic_slots(request));
  const std::vector<std::string> objects(program.objects.begin(), program.objects.end());
  const std::string elf = TRY(link_objects(objects, arch_name(TRY(resolve_cpu(request.cpu)).arch)));
  const uint64_t bytes =
      TRY(write_program(request.program_path, elf, program.description, program.constants, program.blobs));
  return measure_size(program.description, elf.size(), bytes);
}

}  // namespace intarsia
