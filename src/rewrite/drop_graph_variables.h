// Variables of a model of TensorFlow 1, whose own graph saves and restores them, that nothing reads any more.
#pragma once

#include "rewrite/drop_variables.h"

namespace intarsia {

/// Does what drop_variables() does for a SavedModel without a graph of objects: drops resource variables that
/// nothing reads any more but what saves and checks them, the nodes that set them, and their places in lists
/// of tensors and in collections. Without any variable left, the model has no saver, and no checkpoint.
/// Nothing is dropped where several graphs share the checkpoint.
Result<SlimModel> drop_graph_variables(std::string_view bytes, std::string_view original);

}  // namespace intarsia
