// How long each operator of a model takes inside OpenVINO.
#pragma once

#include "backends/openvino/ov_session.h"
#include "device/executable.h"

namespace intarsia::openvino {

/// The least time of each operator over a few runs on the inputs, by the library's own counters, in the order
/// of execution. Operators are those of the model after optimization, which keep the name of a node of the
/// model as far as the library does. The model is compiled for this, so it takes as long as to load it.
Result<std::vector<OperatorTime>> profile_model(std::string_view model, SessionSettings settings,
                                                std::span<const Input> inputs);

}  // namespace intarsia::openvino
