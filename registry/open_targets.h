// Backends that a build may lack, or whose library a machine may lack.
#pragma once

#include <memory>

#include "compile/compile_request.h"

namespace intarsia {

/// Compile half of a backend, or why it is not available.
using TargetResult = Result<std::unique_ptr<Target>>;
TargetResult open_halide_target(const CompileRequest& request);       // halide_present.cc or halide_absent.cc
TargetResult open_onnxruntime_target(const CompileRequest& request);  // onnxruntime_target.cc
TargetResult open_tensorflow_target(const CompileRequest& request);   // tensorflow_target.cc

/// Opens the OpenVINO target, which is always there: it opens its library when a node needs it.
TargetResult open_openvino_target(const CompileRequest& request);
/// Opens OpenVINO, or says why not.
Status find_openvino();

}  // namespace intarsia
