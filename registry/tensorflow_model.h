// A TensorFlow model opened in TensorFlow: as a peer, and as an oracle.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/tensorflow/opened_model.h"

namespace intarsia {

/// Opens a model. `signature` is that of a SavedModel; empty: its default.
Result<tf::OpenedModel> open_tensorflow_model(const std::string& path, const std::string& signature,
                                              const std::vector<std::string>& op_libraries,
                                              std::span<const NamedValue> inputs, int threads);

}  // namespace intarsia
