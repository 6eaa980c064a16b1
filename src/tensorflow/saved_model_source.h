// What the importer asks of TensorFlow itself, handed in so that the importer needs no framework.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/tensor_view.h"
#include "tensorflow/messages.h"

namespace intarsia {

/// Contents of a lookup table: keys and their values, in any order.
struct TableContents {
  Tensor keys, values;
};

/// A SavedModel whose variables were restored and whose initialisers ran.
class SavedModelState {
 public:
  virtual ~SavedModelState() = default;
  /// Value of the variable whose handle the named node (VarHandleOp) makes.
  virtual Result<Tensor> read_variable(const std::string& node) = 0;
  /// Contents of the table whose handle the named node (HashTableV2, MutableHashTableV2) makes.
  virtual Result<TableContents> read_table(const std::string& node, DType key, DType value) = 0;
};

struct TensorFlowSource {
  /// Names and types of an operator's inputs and outputs; null: TensorFlow has no such operator.
  std::function<Result<const tensorflow::OpDef*>(const std::string& op)> find_op;
  std::function<Result<std::unique_ptr<SavedModelState>>(const std::string& folder, const std::vector<std::string>& tags)> open;
};

}  // namespace intarsia
