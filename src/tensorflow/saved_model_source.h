// Services of TensorFlow itself for the importer, passed in so that it needs no framework.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"
#include "tensorflow/messages.h"
#include "tensorflow/object_graph.h"

namespace intarsia {

/// A lookup table, by the node that creates its handle (HashTableV2, MutableHashTableV2).
struct SavedTable {
  std::string node;
  DType key = DType::undefined, value = DType::undefined;
};

/// Contents of a table: keys and their values, in any order.
struct TableContents {
  Tensor keys, values;
};

struct SavedContents {
  std::vector<Tensor> variables;
  std::vector<TableContents> tables;
};

/// A variable whose saved value can be found only through the objects of the model.
struct SavedVariable {
  tensorflow::NodeDef handle;  // node that creates its handle
  tensorflow::ObjectPath path;
};

struct SavedModelFiles {
  std::string folder;
  std::vector<std::string> tags;
  /// Variables that TensorFlow's session loader leaves without a value: its list of variables lacks those of
  /// Keras layers inside a tf.Module.
  std::vector<SavedVariable> unrestored;
};

struct TensorFlowSource {
  /// Returns the names and types of an operator's inputs and outputs; null if TensorFlow has no such
  /// operator.
  std::function<Result<const tensorflow::OpDef*>(const std::string& op)> find_op;
  /// Loads a SavedModel, restores its variables, runs its initializers, and reads variables (by the nodes
  /// that create their handles) and tables, in order.
  std::function<Result<SavedContents>(const SavedModelFiles& files, const std::vector<std::string>& variables,
                                      const std::vector<SavedTable>& tables)>
      read_saved_model;
  /// Returns the graph of objects (object_graph.h) that a SavedModel's checkpoint holds.
  std::function<Result<std::string>(const std::string& folder)> read_checkpoint_objects;
  /// Writes a SavedModel's checkpoint into another folder with only these tensors, of these DataTypes, and
  /// with another graph of objects; without one if `objects` is empty.
  std::function<Status(const std::string& from, const std::string& to, const std::vector<std::string>& keys,
                       const std::vector<int32_t>& types, const std::string& objects)>
      copy_checkpoint;
};

}  // namespace intarsia
