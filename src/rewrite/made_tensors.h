// Types and shapes of the tensors that nodes of a body make.
#pragma once

#include "rewrite/body.h"

namespace intarsia {

/// What is known about a tensor that a node makes.
struct MadeTensor {
  int32_t data_type = 0;
  std::optional<SymbolicShape> shape;
};

/// Returns what the node's outputs are, as far as the operator's definition and recorded shapes tell; nothing
/// if TensorFlow has no such operator.
Result<std::vector<MadeTensor>> find_made_tensors(const tensorflow::NodeDef& node,
                                                  const TensorFlowSource& source);

}  // namespace intarsia
