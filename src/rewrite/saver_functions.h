// The functions of a SavedModel that save and restore its variables.
#pragma once

#include <optional>
#include <set>

#include "rewrite/function_edit.h"

namespace intarsia {

/// Tensor of a checkpoint, and the argument of a function that takes its variable.
struct SavedTensor {
  std::string key;
  int32_t data_type = 0;
  std::string argument;  // empty for what is no variable
};

/// Function that saves (SaveV2) or restores (RestoreV2) variables which it is handed.
class SaverFunction {
 public:
  /// Reads the function; nullopt if it is of another form than TensorFlow's own.
  static std::optional<SaverFunction> read(const tensorflow::FunctionDef& function);

  const std::vector<SavedTensor>& tensors() const { return tensors_; }
  /// Writes the function without the tensors of these arguments, which go away.
  Result<std::string> write(const std::set<std::string>& arguments) const;

 private:
  explicit SaverFunction(const tensorflow::FunctionDef& function) : function_(&function) {}
  bool find_lists();
  bool read_restore();
  bool read_save();
  bool is_list(const tensorflow::NodeDef& node) const { return node.name == keys_ || node.name == slices_; }
  const tensorflow::NodeDef* find(const std::string& input) const;
  std::string find_argument(std::string input) const;

  const tensorflow::FunctionDef* function_;
  const tensorflow::NodeDef* node_ = nullptr;  // SaveV2 or RestoreV2
  std::string keys_, slices_;                  // the nodes with its lists of names
  std::vector<SavedTensor> tensors_;
};

}  // namespace intarsia
