// What the importer asks of TensorFlow: contents of variables and tables, definitions of operators.
#pragma once

#include "tensorflow/saved_model_source.h"

namespace intarsia {

/// Opens TensorFlow when it is asked something for the first time. `op_libraries` are loaded before.
TensorFlowSource make_tensorflow_source(std::vector<std::string> op_libraries);

}  // namespace intarsia
