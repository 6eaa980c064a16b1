// Time of each operator of a model inside OpenVINO.
#pragma once

#include "backends/openvino/session.h"
#include "device/executable.h"

namespace intarsia::openvino {

/// Returns the time of each operator over a few runs on the inputs after a first one, by the library's own
/// counters, in the order of execution. Operators are those of the model after optimization, which keep the
/// name of a node of the model as far as the library does. The model is compiled for this, so it takes as
/// long as loading it.
Result<std::vector<OperatorTime>> profile_model(std::string_view model, SessionSettings settings,
                                                std::span<const Input> inputs);

/// Removes the first run from the library's counters for CPUs, which are averages over all runs so far. That
/// run touches the memory of results, which can take a hundred times as long as the work. `first`: the
/// counters after it; `averages`: those after `runs` runs, which become those of the others.
///   first {"a": 56000}, averages of 6 {"a": 10000}  ->  {"a": 800}
void leave_out_first_run(std::span<const OperatorTime> first, int64_t runs, std::span<OperatorTime> averages);

}  // namespace intarsia::openvino
