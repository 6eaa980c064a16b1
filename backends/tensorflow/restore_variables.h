// Opening of a SavedModel with all of its variables set, as tf.saved_model.load sets them.
#pragma once

#include "backends/tensorflow/session.h"
#include "tensorflow/saved_model_source.h"

namespace intarsia::tf {

/// Opens the model by TensorFlow's session loader, and then sets the variables that it leaves unset, from the
/// checkpoint. Fails for a variable without a value in the checkpoint, and names it.
Result<std::unique_ptr<Session>> open_saved_model(const Library& library, const SavedModelFiles& files,
                                                  const SessionSettings& settings);

/// Does what TensorFlowSource::read_checkpoint_objects describes.
Result<std::string> read_checkpoint_objects(const Library& library, const std::string& folder);

/// Does what TensorFlowSource::copy_checkpoint describes.
Status copy_checkpoint(const Library& library, const std::string& from, const std::string& to,
                       const std::vector<std::string>& keys, const std::vector<int32_t>& types,
                       const std::string& objects);

}  // namespace intarsia::tf
