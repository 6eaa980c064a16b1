// Variables of a SavedModel that TensorFlow's session loader leaves without a value, and the places of their
// values.
#pragma once

#include <vector>

#include "tensorflow/saved_model_source.h"

namespace intarsia {

/// Finds variables that a function of the model's objects captures, but that are not passed to the restoring
/// node. A model of TensorFlow 1 has no objects, so none. Throws protozero::exception on malformed bytes.
std::vector<SavedVariable> find_unrestored_variables(const tensorflow::MetaGraph& meta,
                                                     const tensorflow::GraphDef& graph);

}  // namespace intarsia
