// A plan in the model itself.
#pragma once

#include <string>

#include "compile/compile_model.h"

namespace intarsia {

/// Writes a copy of the ONNX model that the function is of to `path`, whole or not at all, in which the
/// metadata of each node says where the plan runs it (`layer_ann`, which read_annotations reads). Nodes that
/// compiling folds away have no place. A call of a function has one if all of its nodes run there. Errors:
/// the model is not ONNX; it has weights in files, and `path` is in another folder or one of those files; a
/// node of the plan has no node of its own in the file; the model would be too large; it cannot be written.
Status annotate_model(const CompiledFunction& function, const std::string& model, const std::string& path);

}  // namespace intarsia
