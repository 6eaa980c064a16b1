#include "runtime/bind_program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "runtime/region_text.h"

namespace intarsia {
namespace {

/// Device names, one per slot.
Result<std::vector<std::string>> choose_devices(const fbs::ProgramT& program, const BindOptions& options) {
  std::vector<std::string> names, slots;
  for (const auto& slot : program.slots) {
    names.push_back(slot->device);
    slots.push_back(slot->name);
  }
  std::set<std::string> bound;
  for (const auto& [slot, device] : options.devices) {
    const size_t at = static_cast<size_t>(std::ranges::find(slots, slot) - slots.begin());
    if (at == slots.size())
      return fail("no slot '{}' to bind; the program has: {}", slot, fmt::join(slots, ", "));
    if (!bound.insert(slot).second) return fail("slot '{}' is bound twice", slot);
    names[at] = device;
  }
  return names;
}

Result<std::shared_ptr<Executor>> open_executor(const fbs::SlotT& slot, const std::string& name) {
  std::shared_ptr<Executor> executor = TRY(with_context(make_device(name), "slot '{}'", slot.name));
  if (executor->kind() == slot.kind) return executor;
  return fail(
      "slot '{}' was compiled for a device of kind {}, but '{}' is a {}: bind another device or compile "
      "again",
      slot.name, slot.kind, name, executor->kind());
}

Status open_executors(BoundProgram& bound, const std::vector<std::string>& names) {
  bound.spaces.resize(bound.description().spaces.size());
  bound.spaces[host_space] = host_memory_space();
  for (size_t i = 0; i < names.size(); ++i) {
    const fbs::SlotT& slot = *bound.description().slots[i];
    const auto& executor = bound.executors.emplace_back(TRY(open_executor(slot, names[i])));
    std::shared_ptr<MemorySpace>& space = bound.spaces[slot.space];
    if (space == nullptr) space = executor->space();
    if (space != executor->space())
      return fail("slot '{}' shares memory with another slot, but '{}' has not the memory '{}'", slot.name,
                  names[i], space->name());
    if (space->alignment() > tail_alignment)
      return fail("slot '{}': '{}' wants values at multiples of {} bytes, the program has them at {}",
                  slot.name, names[i], space->alignment(), tail_alignment);
  }
  for (size_t i = 0; i < bound.spaces.size(); ++i) {
    if (bound.spaces[i] == nullptr)
      return fail(ErrorKind::corrupt, "no slot is in space '{}'", bound.description().spaces[i]->name);
  }
  return {};
}

/// [space][constant]: whether some region or value there uses it.
std::vector<std::vector<bool>> find_uses(const fbs::ProgramT& program) {
  std::vector<std::vector<bool>> used(program.spaces.size(),
                                      std::vector<bool>(program.constants.size(), false));
  for (const auto& region : program.regions) {
    for (uint32_t constant : region->constants) used[program.slots[region->slot]->space][constant] = true;
  }
  for (const auto& function : program.functions) {
    for (const auto& value : function->values) {
      if (value->storage == fbs::Storage::constant) used[value->space][value->constant] = true;
    }
  }
  return used;
}

/// In the host's memory a constant stays in the mapped file; to any other its bytes are copied once.
Status place_constants(BoundProgram& bound) {
  const MappedProgram& file = bound.program->file();
  const auto used = find_uses(bound.description());
  for (size_t number = 0; number < bound.spaces.size(); ++number) {
    MemorySpace& space = *bound.spaces[number];
    std::vector<PlacedConstant> placed(file.constants.size());
    std::map<std::pair<void*, size_t>, Place> uploaded;  // by bytes of the file: equal ones are stored once
    for (size_t i = 0; i < placed.size(); ++i) {
      if (!used[number][i]) continue;
      TensorView& tensor = placed[i].tensor;
      tensor = file.constants[i].view();
      placed[i].place = {tensor.data, 0};
      if (space.is_host()) continue;
      if (tensor.dtype == DType::string) return fail("a constant of strings is used on '{}'", space.name());
      Place& there = uploaded[{tensor.data, tensor.bytes()}];
      if (there.memory == nullptr) {
        there.memory = bound.memory.emplace_back(TRY(space.allocate(tensor.bytes()))).handle();
        TRY(space.upload(there, tensor.data, tensor.bytes()));
      }
      placed[i].place = there;
      tensor.data = space.address(there);
    }
    bound.constants.push_back(std::move(placed));
  }
  return {};
}

int threads_on(const BoundProgram& bound, size_t slot) {
  const CoreSet* cores = bound.executors[slot]->cores();
  return cores == nullptr ? bound.threads : std::min(bound.threads, cores->size());
}

/// Names, by region.
std::vector<std::vector<std::string>> source_nodes(const fbs::ProgramT& program) {
  std::vector<std::vector<std::string>> names(program.regions.size());
  for (const auto& node : program.nodes) {
    if (node->region < names.size() && !node->name.empty()) names[node->region].push_back(node->name);
  }
  return names;
}

Status load_regions(BoundProgram& bound) {
  const LoadedProgram& program = *bound.program;
  const std::filesystem::path path = std::filesystem::absolute(program.file().path);
  const std::vector<std::vector<std::string>> nodes = source_nodes(bound.description());
  bound.region_constants.resize(bound.description().regions.size());
  for (size_t i = 0; i < bound.description().regions.size(); ++i) {
    const fbs::RegionT& region = *bound.description().regions[i];
    for (uint32_t constant : region.constants) {
      bound.region_constants[i].push_back(
          bound.constants[bound.description().slots[region.slot]->space][constant].tensor);
    }
    const LoadContext context{.blob = program.file().blobs[i],
                              .constants = bound.region_constants[i],
                              .symbol = [&program](const std::string& name) { return program.symbol(name); },
                              .program_folder = path.parent_path().string(),
                              .threads = threads_on(bound, region.slot),
                              .workspace_bytes = region.workspace_bytes,
                              .cores = bound.executors[region.slot]->cores()};
    std::unique_ptr<Executable> loaded = TRY(with_kind(
        ErrorKind::corrupt, with_context(program.backend(i).load(context), "program '{}': {}",
                                         program.file().path, region_text(program.description(), i))));
    bound.executables.push_back(TRY(bound.executors[region.slot]->adapt(std::move(loaded), nodes[i])));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const BoundProgram>> bind_program(const std::shared_ptr<const LoadedProgram>& program,
                                                         const BindOptions& options) {
  TRY(with_context(program->file().file->check_unchanged(), "program '{}'", program->file().path));
  if (options.threads < 0)
    return fail("{} threads; want a positive number, or 0 for the compiled one", options.threads);
  const std::vector<std::string> names = TRY(choose_devices(program->description(), options));
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1u);
  const int compiled_for = static_cast<int>(std::clamp(program->description().threads, 1u, cores));
  const int threads = options.threads > 0 ? options.threads : compiled_for;
  const std::string key = fmt::format("{}\n{}", threads, fmt::join(names, "\n"));
  // Held while binding, so that two sessions starting at once do not load everything twice.
  std::lock_guard lock(program->bound_mutex_);
  std::erase_if(program->bound_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const BoundProgram>& known = program->bound_[key];
  if (std::shared_ptr<const BoundProgram> bound = known.lock()) return bound;
  auto bound = std::make_shared<BoundProgram>();
  bound->program = program;
  bound->threads = threads;
  TRY(open_executors(*bound, names));
  TRY(place_constants(*bound));
  TRY(load_regions(*bound));
  known = bound;
  return bound;
}

}  // namespace intarsia
