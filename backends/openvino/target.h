// Compile half of the OpenVINO backend: a region becomes an ONNX model, its large weights become constants of
// the program.
#pragma once

#include <memory>

#include "target/target.h"

namespace intarsia {

/// Makes a target that supports the operators that OpenVINO computes as ONNX says (node_rules.h) and that the
/// OpenVINO found on this machine accepts, determined by compiling the single node. The library is opened
/// when the first node needs it; without it every node is refused, with how to install it as the reason.
std::unique_ptr<Target> make_openvino_target();

}  // namespace intarsia
