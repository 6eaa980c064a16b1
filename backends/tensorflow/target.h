// Compile half of the TensorFlow backend: a region of a TensorFlow model is its own nodes as a GraphDef.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "target/target.h"

namespace intarsia {

/// Makes a target that takes nodes of TensorFlow models that the TensorFlow of this machine has kernels for.
/// `op_libraries` hold the user's own operators. Fails without TensorFlow and for a library that does not
/// load.
Result<std::unique_ptr<Target>> make_tensorflow_target(const std::vector<std::string>& op_libraries);

}  // namespace intarsia
