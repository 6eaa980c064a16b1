// Time of each operator of a model inside ONNX Runtime.
#pragma once

#include "backends/onnxruntime/session.h"
#include "device/executable.h"

namespace intarsia::ort {

/// Returns the least time of each operator over a few runs on the inputs, by the library's own profile, in
/// the order in which they ran. Operators are those of the model after optimization, which keep the name of a
/// node, or of a value, of the model as far as the library does; inserted ones have names of their own. The
/// session is made for this, so it takes as long as loading the model.
Result<std::vector<OperatorTime>> profile_model(std::string_view model, SessionSettings settings,
                                                std::span<const Value* const> inputs);

}  // namespace intarsia::ort
