// Devices and backends of a request become slots and targets.
#pragma once

#include "compile/compile_model.h"

namespace intarsia {

/// "accel=sim:0" -> {accel, sim, sim:0}; "cpu" -> {cpu, cpu, cpu}. A host slot is added when none is named:
/// inputs and outputs live there. Errors: a name twice, an unknown kind of device, two host slots.
Result<std::vector<DeviceSlot>> parse_slots(const std::vector<std::string>& devices);

/// Backends in order of preference, each on every slot that it can drive. Errors: a backend that is not
/// there, a pinned framework under --fallback none, a slot that no backend can drive.
Result<std::vector<PlacementTarget>> choose_targets(const CompileRequest& request,
                                                    const BackendRegistry& tools,
                                                    const std::vector<DeviceSlot>& slots);

/// The memory that each target works in: a slot, or host_slot.
std::vector<uint32_t> memories_of(const std::vector<PlacementTarget>& targets,
                                  const std::vector<DeviceSlot>& slots);

}  // namespace intarsia
