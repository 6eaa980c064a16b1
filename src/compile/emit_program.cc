#include "compile/emit_program.h"

#include <filesystem>
#include <set>

#include "base/mapped_file.h"
#include "compile/build_function.h"
#include "compile/link_objects.h"
#include "import/import_model.h"
#include "base/cpu_level.h"
#include "program/digest.h"
#include "program/verify_machine.h"
#include "program/write_program.h"

namespace intarsia {
namespace {

void describe_slots(const CompileResult& result, fbs::ProgramT& program) {
  for (const DeviceSlot& slot : result.slots) {
    auto entry = std::make_unique<fbs::SlotT>();
    entry->name = slot.name;
    entry->kind = slot.kind;
    entry->device = slot.device;
    program.slots.push_back(std::move(entry));
  }
}

void describe_nodes(const CompileResult& result, bool strip_names, fbs::ProgramT& program) {
  for (uint32_t i = 0; i < result.graph.nodes.size(); ++i) {
    auto note = std::make_unique<fbs::NodeNoteT>();
    note->name = strip_names ? "" : result.graph.nodes[i].name;
    note->op = result.graph.nodes[i].op;
    note->region = result.partition.region_of[i];
    note->reason = result.placement.reason[i];
    note->refusals = result.placement.refusals[i];
    program.nodes.push_back(std::move(note));
  }
}

/// Regions with their constants, which are appended to `constants`.
void describe_regions(const CompileResult& result, const CompiledRegions& regions, fbs::ProgramT& program, std::vector<TensorView>& constants) {
  std::set<std::string> requirements;
  for (size_t r = 0; r < regions.regions.size(); ++r) {
    const PlacementTarget& target = result.targets[result.partition.regions[r].target];
    auto entry = std::make_unique<fbs::RegionT>();
    entry->backend = target.backend->name();
    entry->slot = target.slot;
    entry->workspace_bytes = regions.regions[r].workspace_bytes;
    for (const Tensor& constant : regions.regions[r].constants) {
      entry->constants.push_back(static_cast<uint32_t>(constants.size()));
      constants.push_back(constant.view());
    }
    if (target.backend->needs_framework()) requirements.insert(target.backend->name());
    program.regions.push_back(std::move(entry));
  }
  program.requirements.assign(requirements.begin(), requirements.end());
}

Status describe_source(const CompileResult& result, const CompileRequest& request, fbs::ProgramT& program) {
  std::error_code error;
  program.model_path = std::filesystem::absolute(request.model_path, error).string();
  program.model_digest = digest_bytes(TRY(map_file(main_file(request.model_path))).bytes);
  for (ValueId input : result.graph.inputs) {
    const Value& value = result.graph.value(input);
    if (std::optional<Shape> shape = value.type.fixed_shape()) program.shapes.push_back(value.name + "=" + print_shape(*shape));
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

Status emit_program(CompileResult& result, const CompiledRegions& regions, const CompileRequest& request) {
  fbs::ProgramT program;
  std::vector<TensorView> constants;
  describe_slots(result, program);
  describe_nodes(result, request.strip_names, program);
  describe_regions(result, regions, program, constants);
  TRY(describe_source(result, request, program));
  program.threads = static_cast<uint32_t>(request.threads);
  if (!regions.object_files.empty()) {
    program.arch = machine_arch();
    program.cpu = TRY(resolve_cpu_level(request.cpu));
    program.cpu_features = features_of_cpu_level(program.cpu);
  }
  BuiltFunction built = TRY(build_function(result, regions, static_cast<uint32_t>(constants.size())));
  for (ValueId id : built.constants) constants.push_back(result.graph.value(id).constant->view());
  for (uint64_t bytes : built.function.arena_bytes) result.arena_bytes += bytes;
  program.functions.push_back(std::make_unique<fbs::FunctionT>(std::move(built.function)));
  result.constants_bytes = total_bytes(constants);
  if (request.dry_run) return {};
  const std::string elf = TRY(link_objects(regions.object_files, machine_arch()));
  std::vector<std::string> blobs;
  for (const CompiledRegion& region : regions.regions) blobs.push_back(region.blob);
  return write_program(request.program_path, elf, std::move(program), constants, blobs);
}

}  // namespace intarsia
