// Devices and backends of a request become slots and targets.
#pragma once

#include "compile/compile_request.h"

namespace intarsia {

/// "accel=sim:0" -> {accel, sim, sim:0}; "cpu" -> {cpu, cpu, cpu}; "a=cpu:0-1" -> {a, cpu, cpu:0-1}, of two
/// cores. A slot on the host is added when none is named. Errors: a name twice, a core set that is none.
Result<std::vector<DeviceSlot>> parse_slots(const std::vector<std::string>& devices);

/// Fills all of the problem but the graph: the request's slots, and as targets the backends in order of
/// preference, each on every slot that it can drive. Errors: those of parse_slots, a backend that is not
/// there, a pinned framework under --fallback none, a slot that no backend can drive.
Status choose_targets(const CompileRequest& request, const BackendRegistry& tools, PlanningProblem& problem);

}  // namespace intarsia
