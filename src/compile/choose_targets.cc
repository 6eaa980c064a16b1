#include "compile/choose_targets.h"

#include <algorithm>

#include "base/device_name.h"
#include "base/digest.h"
#include "base/files/mapped_file.h"
#include "program/program.h"

namespace intarsia {
namespace {

std::string backend_names(const CompileServices& services) {
  std::vector<std::string> names;
  for (const auto& target : services.backends) names.push_back(target->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string slot_names(const std::vector<DeviceSlot>& slots) {
  std::vector<std::string> names;
  for (const DeviceSlot& slot : slots) names.push_back(slot.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Returns the backends that may be used, in order. Branches and loops by bodies of ours come before
/// frameworks.
Result<std::vector<const Target*>> choose_backends(const CompileRequest& request,
                                                   const CompileServices& services) {
  std::vector<const Target*> chosen;
  for (const auto& target : services.backends) {
    if (request.backends.empty() && (request.allow_fallback || !target->info().needs_framework))
      chosen.push_back(target.get());
  }
  for (const std::string& name : request.backends) {
    auto at =
        std::ranges::find_if(services.backends, [&](const auto& target) { return target->name() == name; });
    if (at == services.backends.end())
      return fail("--backends {}: no such backend; there are {}", name, backend_names(services));
    if (!request.allow_fallback && (*at)->info().needs_framework) {
      return fail("--backends {} contradicts --fallback none: {} is a framework", name, name);
    }
    chosen.push_back(at->get());
  }
  const auto framework =
      std::ranges::find_if(chosen, [](const Target* one) { return one->info().needs_framework; });
  if (services.control_flow != nullptr) chosen.insert(framework, services.control_flow.get());
  return chosen;
}

bool is_cpu(const DeviceSlot& slot) { return slot.kind == "cpu"; }

/// Returns the digest of the file of sim:N?times=FILE; empty for any other device.
Result<std::string> digest_declared_times(const DeviceName& device) {
  const DeviceSetting* times = device.kind == "sim" ? device.find_setting("times") : nullptr;
  if (times == nullptr) return std::string();
  return fmt::format("{:016x}", digest_bytes(TRY(map_file(times->value)).bytes));
}

/// Fills in what devices, and the plug-ins that drive them, report about themselves. Error: a device has an
/// invalid setting.
Status describe_devices(const CompileServices& services, std::vector<DeviceSlot>& slots) {
  for (DeviceSlot& slot : slots) {
    if (services.devices.count_queues)
      slot.queues = TRY(with_context(services.devices.count_queues(slot.device), "--devices"));
    slot.is_on_host = space_kind(slot.kind) == host_space_kind;
    for (const auto& target : services.backends) {
      if (!target->info().is_plugin || !drives(*target, slot.kind)) continue;
      slot.is_on_host |= target->info().is_on_host;
      slot.alignment = target->info().alignment;
    }
  }
  return {};
}

/// Numbers the memory spaces: all slots on the host share its memory, and every other slot has its own.
void number_spaces(PlanningProblem& problem) {
  static_assert(host_memory == host_space);
  problem.spaces = {std::ranges::find_if(problem.slots, &DeviceSlot::is_on_host)->name};
  for (DeviceSlot& slot : problem.slots) {
    if (slot.is_on_host) continue;
    slot.space = static_cast<uint32_t>(problem.spaces.size());
    problem.spaces.push_back(slot.name);
  }
}

/// Checks whether the slot takes only pinned nodes. A simulation that declares no times is as fast as the
/// host, which says nothing about a device. But the device named first is where the user wants all supported
/// work, and stages cut by hand go to the devices in their order.
bool takes_only_pinned(const CompileRequest& request, const std::vector<DeviceSlot>& slots, uint32_t slot) {
  const bool is_wanted = slot == 0 || !request.cuts.empty();
  return !is_wanted && slots[slot].kind == "sim" && slots[slot].declared_times.empty();
}

/// Sets the limit of each space to the smallest that its slots allow. A device's own limit holds unless the
/// user gives one.
Status set_memory_limits(const CompileRequest& request, const CompileServices& services,
                         PlanningProblem& problem) {
  problem.memory_limits.assign(problem.spaces.size(), no_limit);
  for (const DeviceSlot& slot : problem.slots) {
    for (const auto& target : services.backends) {
      const bool is_given = std::ranges::find(request.memory_limits, slot.name, &MemoryLimit::slot) !=
                            request.memory_limits.end();
      if (slot.is_on_host || is_given || !drives(*target, slot.kind)) continue;
      if (const uint64_t bytes = target->memory_bytes(slot.device); bytes > 0)
        problem.memory_limits[slot.space] = bytes;
    }
  }
  for (const MemoryLimit& limit : request.memory_limits) {
    const auto slot = std::ranges::find(problem.slots, limit.slot, &DeviceSlot::name);
    if (slot == problem.slots.end())
      return fail("--memory {}: no such slot; --devices has: {}", limit.slot, slot_names(problem.slots));
    uint64_t& bytes = problem.memory_limits[slot->space];
    bytes = std::min(bytes, limit.bytes);
  }
  return {};
}

}  // namespace

Result<std::vector<DeviceSlot>> parse_slots(const std::vector<std::string>& devices) {
  std::vector<DeviceSlot> slots;
  for (const std::string& text : devices) {
    const size_t equals = text.find('=');
    const size_t question = text.find('?');
    const bool named = equals != std::string::npos && (question == std::string::npos || equals < question);
    const auto parsed = DeviceName::parse(named ? std::string_view(text).substr(equals + 1) : text);
    const DeviceName device = TRY(with_context(parsed, "--devices {}", text));
    DeviceSlot slot{.name = named ? text.substr(0, equals) : device.without_settings(),
                    .kind = device.kind,
                    .device = device.text,
                    .core_set = device.kind == "cpu" ? device.cores : std::nullopt};
    if (slot.name.empty() || slot.kind.empty())
      return fail("--devices {}: want DEVICE or SLOT=DEVICE, as in cpu,accel=sim:0", text);
    if (std::ranges::find(slots, slot.name, &DeviceSlot::name) != slots.end())
      return fail("--devices: two slots are named '{}'", slot.name);
    slot.declared_times = TRY(with_context(digest_declared_times(device), "--devices {}", text));
    slots.push_back(std::move(slot));
  }
  if (std::ranges::none_of(slots, is_cpu)) slots.push_back({"cpu", "cpu", "cpu"});
  return slots;
}

Status choose_targets(const CompileRequest& request, const CompileServices& services,
                      PlanningProblem& problem) {
  const std::vector<const Target*> backends = TRY(choose_backends(request, services));
  problem.slots = TRY(parse_slots(request.devices));
  TRY(describe_devices(services, problem.slots));
  number_spaces(problem);
  TRY(set_memory_limits(request, services, problem));
  const auto features_of = [&](const DeviceSlot& slot) {
    return services.devices.features ? services.devices.features(slot.device) : DeviceFeatures();
  };
  for (const Target* backend : backends) {
    for (uint32_t slot = 0; slot < problem.slots.size(); ++slot) {
      DeviceSlot& device = problem.slots[slot];
      if (!drives(*backend, device.kind)) continue;
      if (backend->info().is_plugin) {
        device.plugin_version = backend->version();
        // Times that the plug-in declares must not be stored as times of a real device.
        if (services.measuring.has_device && !services.measuring.has_device(device.device))
          device.declared_times = " declared";
      }
      problem.targets.push_back({backend,
                                 slot,
                                 backend->name() + "@" + device.name,
                                 {device.kind, device.device, features_of(device)},
                                 takes_only_pinned(request, problem.slots, slot)});
      problem.space_of_target.push_back(device.space);
    }
  }
  for (const std::string& name : request.also) {
    if (std::ranges::find(problem.slots, name, &DeviceSlot::name) == problem.slots.end())
      return fail("--also {}: no such slot; --devices has: {}", name, slot_names(problem.slots));
  }
  for (uint32_t slot = 0; slot < problem.slots.size(); ++slot) {
    const DeviceSlot& device = problem.slots[slot];
    if (std::ranges::find(request.automatic, device.device, &CandidateDevice::name) !=
        request.automatic.end())
      continue;
    if (std::ranges::find(problem.targets, slot, &PlacementTarget::slot) == problem.targets.end())
      return fail(
          "--devices: no backend can drive '{}' (kind '{}'); `intarsia devices` lists what there is, and "
          "--plugin adds a device of your own",
          device.device, device.kind);
    if (!is_cpu(device) && device.device == device.kind)
      return fail(
          "--devices: {0} is a kind of device; name one of it, as in {0}:{1}; `intarsia devices` lists "
          "those of this machine",
          device.kind, device.kind == "openvino" ? "GPU" : "0");
  }
  return {};
}

}  // namespace intarsia
