// Compile half of the ONNX Runtime backend: a region becomes an ONNX model, its large weights become
// constants of the program.
#pragma once

#include <memory>

#include "target/target.h"

namespace intarsia {

/// Makes a target that supports what the ONNX Runtime found on this machine accepts, determined by creating a
/// session of the single node. Without ONNX Runtime it refuses everything, with how to install it as the
/// reason.
std::unique_ptr<Target> make_onnxruntime_target();

}  // namespace intarsia
