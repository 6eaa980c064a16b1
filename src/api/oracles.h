// Other runtimes that `check` compares with.
#pragma once

#include <string>

#include "measure/check_model.h"

namespace intarsia {

/// Makes the oracle "onnxruntime", "tensorflow" or "reference". An empty name means the framework that the
/// model comes from if it is available and allow_framework is set, else the reference, which also takes its
/// place where it does not run the model. `op_libraries` are TensorFlow's.
Result<Oracle> make_oracle(const std::string& name, const std::string& model_path, bool allow_framework,
                           const std::vector<std::string>& op_libraries);

}  // namespace intarsia
