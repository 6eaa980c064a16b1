// Requests of the importer to TensorFlow: contents of variables and tables, definitions of operators.
#pragma once

#include "tensorflow/saved_model_source.h"

namespace intarsia {

/// Makes a source that opens TensorFlow on the first request. `op_libraries` are loaded first.
TensorFlowSource make_tensorflow_source(std::vector<std::string> op_libraries);

}  // namespace intarsia
