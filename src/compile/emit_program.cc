#include "compile/emit_program.h"

#include <filesystem>
#include <numeric>
#include <set>

#include "base/cpu_level.h"
#include "base/digest.h"
#include "base/mapped_file.h"
#include "compile/build_function.h"
#include "compile/link_objects.h"
#include "import/import_model.h"
#include "program/verify_machine.h"
#include "program/write_program.h"

namespace intarsia {
namespace {

/// Numbers in a program count over all its functions.
uint32_t region_count(const fbs::ProgramT& program) { return static_cast<uint32_t>(program.regions.size()); }

void describe_slots(const PlanningProblem& problem, fbs::ProgramT& program) {
  for (size_t i = 0; i < problem.spaces.size(); ++i) {
    auto space = std::make_unique<fbs::SpaceT>();
    space->name = problem.spaces[i];
    space->kind = host_space_kind;
    program.spaces.push_back(std::move(space));
  }
  for (const DeviceSlot& slot : problem.slots) {
    program.spaces[slot.space]->kind = space_kind(slot.kind);
    auto entry = std::make_unique<fbs::SlotT>();
    entry->name = slot.name;
    entry->kind = slot.kind;
    entry->device = slot.device;
    entry->space = slot.space;
    program.slots.push_back(std::move(entry));
  }
}

void describe_nodes(const FunctionParts& parts, bool strip_names, uint32_t first_region,
                    fbs::ProgramT& program) {
  const Graph& graph = parts.problem.graph;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    auto note = std::make_unique<fbs::NodeNoteT>();
    note->name = strip_names ? "" : graph.nodes[i].name;
    note->op = graph.nodes[i].op;
    note->region = first_region + parts.plan.partition.region_of[i];
    note->reason = parts.plan.placement.reason[i];
    note->refusals = parts.plan.placement.refusals[i];
    program.nodes.push_back(std::move(note));
  }
}

/// Regions with their constants, which are appended to `constants`.
void describe_regions(const FunctionParts& parts, fbs::ProgramT& program,
                      std::vector<TensorView>& constants) {
  std::set<std::string> requirements(program.requirements.begin(), program.requirements.end());
  for (size_t r = 0; r < parts.regions.regions.size(); ++r) {
    const CompiledRegion& region = parts.regions.regions[r];
    const PlacementTarget& target = parts.problem.targets[parts.plan.partition.regions[r].target];
    auto entry = std::make_unique<fbs::RegionT>();
    entry->backend = target.backend->name();
    entry->slot = target.slot;
    entry->workspace_bytes = region.workspace_bytes;
    for (const Tensor& constant : region.constants) {
      entry->constants.push_back(static_cast<uint32_t>(constants.size()));
      constants.push_back(constant.view());
    }
    if (target.backend->info().needs_framework) requirements.insert(target.backend->name());
    program.regions.push_back(std::move(entry));
  }
  program.requirements.assign(requirements.begin(), requirements.end());
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

uint64_t total_bytes(const std::vector<TensorView>& constants) {
  uint64_t bytes = 0;
  std::set<std::pair<uint64_t, size_t>> seen;
  for (const TensorView& constant : constants) {
    if (constant.dtype == DType::string) continue;
    const std::span<const std::byte> data(static_cast<const std::byte*>(constant.data), constant.bytes());
    if (seen.emplace(digest_bytes(data), data.size()).second) bytes += data.size();
  }
  return bytes;
}

}  // namespace

Result<ProgramSizes> emit_program(const std::vector<FunctionParts>& functions,
                                  const CompileRequest& request) {
  ProgramSizes sizes;
  fbs::ProgramT program;
  std::vector<TensorView> constants;
  std::vector<std::string> blobs;
  std::set<std::string> objects;
  describe_slots(functions[0].problem, program);
  for (const FunctionParts& parts : functions) {
    const uint32_t first_region = region_count(program);
    describe_nodes(parts, request.strip_names, first_region, program);
    describe_regions(parts, program, constants);
    BuiltFunction built = TRY(build_function(parts, first_region, static_cast<uint32_t>(constants.size())));
    for (ValueId id : built.constants) constants.push_back(parts.problem.graph.value(id).constant->view());
    sizes.arena_bytes.push_back(
        std::reduce(built.function.arena_bytes.begin(), built.function.arena_bytes.end()));
    program.functions.push_back(std::make_unique<fbs::FunctionT>(std::move(built.function)));
    for (const CompiledRegion& region : parts.regions.regions) blobs.push_back(region.blob);
    objects.insert(parts.regions.object_files.begin(), parts.regions.object_files.end());
  }
  TRY(describe_source(functions, request, program));
  program.threads = static_cast<uint32_t>(request.threads);
  if (!objects.empty()) {
    program.arch = machine_arch();
    program.cpu = TRY(resolve_cpu_level(request.cpu));
    program.cpu_features = features_of_cpu_level(program.cpu);
  }
  sizes.constants_bytes = total_bytes(constants);
  if (request.dry_run) return sizes;
  const std::string elf =
      TRY(link_objects(std::vector<std::string>(objects.begin(), objects.end()), machine_arch()));
  TRY(write_program(request.program_path, elf, std::move(program), constants, blobs));
  return sizes;
}

}  // namespace intarsia
