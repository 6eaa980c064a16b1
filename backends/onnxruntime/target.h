// The compile half of the ONNX Runtime backend: a region becomes an ONNX model, its big weights constants of
// the program.
#pragma once

#include <memory>

#include "target/target.h"

namespace intarsia {

/// Supports what the ONNX Runtime found on this machine accepts, asked by making a session of the node alone.
/// Without ONNX Runtime it refuses everything, with the way to install it as the reason.
std::unique_ptr<Target> make_onnxruntime_target();

}  // namespace intarsia
