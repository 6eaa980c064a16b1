// Opening of a SavedModel with all of its variables set, as tf.saved_model.load sets them.
#pragma once

#include "backends/tensorflow/session.h"
#include "tensorflow/saved_model_source.h"

namespace intarsia::tf {

/// Opens the model by TensorFlow's session loader, and then sets the variables that it leaves unset, from the
/// checkpoint. Fails for a variable without a value in the checkpoint, and names it.
Result<std::unique_ptr<Session>> open_saved_model(const Library& library, const SavedModelFiles& files,
                                                  const SessionSettings& settings);

}  // namespace intarsia::tf
