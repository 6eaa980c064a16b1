// Variables that nothing in a SavedModel reads any more.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// SavedModel without some of its variables.
struct SlimModel {
  std::string bytes;                 // of saved_model.pb
  std::vector<std::string> dropped;  // tensors of the checkpoint that went away, sorted
  std::vector<std::string> kept;     // those that stay, and
  std::vector<int32_t> types;        // their DataTypes
  std::string checkpoint_objects;    // what the checkpoint holds as its graph of objects; empty: none
};

/// Drops variables that `original` reads, and the rewritten model does not: neither a function, nor any node
/// of the model's own graph but those that save and restore them. Drops handles that functions capture in
/// vain, the variables' nodes, objects and places in lists of objects. `checkpoint_objects`: the checkpoint's
/// graph of objects; empty for models of TensorFlow 1, which have none (drop_graph_variables.h). Nothing is
/// dropped where variables are saved in an unusual way; `dropped` is empty then. Throws protozero::exception
/// on malformed bytes.
Result<SlimModel> drop_variables(std::string_view bytes, std::string_view original,
                                 std::string_view checkpoint_objects);

}  // namespace intarsia
