// Which variables of a SavedModel TensorFlow's session loader leaves without a value, and where their values
// are.
#pragma once

#include <vector>

#include "tensorflow/saved_model_source.h"

namespace intarsia {

/// Variables that are captured by a function of the model's objects, but not passed to the restoring node. A
/// model of TensorFlow 1 has no objects, so none. Throws protozero::exception on malformed bytes.
std::vector<SavedVariable> find_unrestored_variables(const tensorflow::MetaGraph& meta,
                                                     const tensorflow::GraphDef& graph);

}  // namespace intarsia
