// Saving a plan inside the model file.
#pragma once

#include <string>

#include "compile/functions.h"

namespace intarsia {

/// Writes a copy of the function's ONNX model to `path`, whole or not at all, in which the metadata of each
/// node names the target that the plan runs it on (`layer_ann`, which read_annotations reads). Nodes that
/// compiling folds away get no target; the call of a function gets one if all of its nodes run there. Errors:
/// the model is not ONNX; it has weights in files, and `path` is in another folder or one of those files; a
/// node of the plan has no node of its own in the file; the model would be too large; it cannot be written.
Status annotate_model(const PlannedFunction& function, const std::string& model, const std::string& path);

}  // namespace intarsia
