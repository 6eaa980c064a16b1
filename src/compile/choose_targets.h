// Slots and targets for the devices and backends of a request.
#pragma once

#include "compile/compile_request.h"

namespace intarsia {

/// Parses slots: "accel=sim:0" -> {accel, sim, sim:0}; "cpu" -> {cpu, cpu, cpu}; "a=cpu:0-1" -> {a, cpu,
/// cpu:0-1} with two cores. Adds a slot on the host if none is named. Errors: a name twice, an invalid core
/// set.
Result<std::vector<DeviceSlot>> parse_slots(const std::vector<std::string>& devices);

/// Fills the whole problem except the graph: the request's slots, and as targets the backends in order of
/// preference, each on every slot it can drive. Errors: those of parse_slots, an unknown backend, a pinned
/// framework under --fallback none, a slot that no backend can drive.
Status choose_targets(const CompileRequest& request, const CompileServices& services,
                      PlanningProblem& problem);

}  // namespace intarsia
