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

Status open_devices(BoundProgram& bound, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    const fbs::SlotT& slot = *bound.description().slots[i];
    std::shared_ptr<Device> device = TRY(with_context(make_device(names[i]), "slot '{}'", slot.name));
    if (device->kind() != slot.kind) {
      return fail(
          "slot '{}' was compiled for a device of kind {}, but '{}' is a {}: bind another device or compile "
          "again",
          slot.name, slot.kind, names[i], device->kind());
    }
    bound.devices.push_back(std::move(device));
  }
  return {};
}

/// [slot][constant]: whether some region or value there uses it.
std::vector<std::vector<bool>> find_uses(const fbs::ProgramT& program) {
  std::vector<std::vector<bool>> used(program.slots.size(),
                                      std::vector<bool>(program.constants.size(), false));
  for (const auto& region : program.regions) {
    for (uint32_t constant : region->constants) used[region->slot][constant] = true;
  }
  for (const auto& function : program.functions) {
    for (const auto& value : function->values) {
      if (value->storage == fbs::Storage::constant) used[value->slot][value->constant] = true;
    }
  }
  return used;
}

/// On a host slot a constant stays in the mapped file; to any other memory its bytes are copied once.
Status place_constants(BoundProgram& bound) {
  const MappedProgram& file = bound.program->file();
  const auto used = find_uses(bound.description());
  for (size_t slot = 0; slot < bound.devices.size(); ++slot) {
    Device& device = *bound.devices[slot];
    std::vector<TensorView> views(file.constants.size());
    std::map<std::pair<void*, size_t>, std::byte*>
        uploaded;  // by offset in the file: equal bytes are stored once
    for (size_t i = 0; i < views.size(); ++i) {
      if (!used[slot][i]) continue;
      views[i] = file.constants[i].view();
      if (device.in_host_memory()) continue;
      if (views[i].dtype == DType::string)
        return fail("a constant of strings is used on '{}'", device.name());
      std::byte*& there = uploaded[{views[i].data, views[i].bytes()}];
      if (there == nullptr) {
        const Buffer& buffer = bound.memory.emplace_back(TRY(device.allocate(views[i].bytes())));
        TRY(device.upload(buffer.data(), views[i].data, views[i].bytes()));
        there = buffer.data();
      }
      views[i].data = there;
    }
    bound.constants.push_back(std::move(views));
  }
  return {};
}

Status load_regions(BoundProgram& bound) {
  const LoadedProgram& program = *bound.program;
  const std::filesystem::path path = std::filesystem::absolute(program.file().path);
  bound.region_constants.resize(bound.description().regions.size());
  for (size_t i = 0; i < bound.description().regions.size(); ++i) {
    const fbs::RegionT& region = *bound.description().regions[i];
    for (uint32_t constant : region.constants) {
      bound.region_constants[i].push_back(bound.constants[region.slot][constant]);
    }
    const LoadContext context{.blob = program.file().blobs[i],
                              .constants = bound.region_constants[i],
                              .symbol = [&program](const std::string& name) { return program.symbol(name); },
                              .program_folder = path.parent_path().string(),
                              .threads = bound.threads,
                              .workspace_bytes = region.workspace_bytes};
    bound.executables.push_back(TRY(with_kind(
        ErrorKind::corrupt, with_context(program.backend(i).load(context), "program '{}': {}",
                                         program.file().path, region_text(program.description(), i)))));
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
  TRY(open_devices(*bound, names));
  TRY(place_constants(*bound));
  TRY(load_regions(*bound));
  known = bound;
  return bound;
}

}  // namespace intarsia
