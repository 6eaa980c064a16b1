// Freezing of functions that stay whole (bodies of While, branches of If): they take variables by handle
// before, and by value after.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensorflow/messages.h"

namespace intarsia {

/// Depth limit for functions that call functions.
inline constexpr int deepest_call = 64;

/// Inputs of a call (or arguments of a function) that are variables, with the DataType of their values.
using VariableInputs = std::map<size_t, int32_t>;

class FunctionFreezer {
 public:
  explicit FunctionFreezer(const std::map<std::string, tensorflow::FunctionDef>& functions)
      : functions_(functions) {}

  /// Makes a node that calls functions (While, If, PartitionedCall) take values instead of variables: it
  /// calls new functions, in which a read of the variable is the value itself. Fails when a function changes
  /// a variable.
  ///   body(h: resource) { ReadVariableOp(h) }   ->   body_frozen0(h: float) { Identity(h) }
  Status freeze_call(tensorflow::NodeDef& node, const VariableInputs& inputs);

  /// Returns the functions that a node calls, directly or through others, as a FunctionDefLibrary; empty if
  /// it calls none.
  Result<std::string> write_library(const tensorflow::NodeDef& node) const;

 private:
  const tensorflow::FunctionDef* find(const std::string& name) const;
  Result<std::string> freeze(const std::string& name, const VariableInputs& arguments);

  const std::map<std::string, tensorflow::FunctionDef>& functions_;
  std::map<std::string, tensorflow::FunctionDef> frozen_;
  int depth_ = 0;
};

/// Checks whether the operator changes a variable or a table.
bool changes_state(const std::string& op);

/// Returns the error for a node that changes_state and so cannot be part of a program.
tl::unexpected<Error> frozen_error(const tensorflow::NodeDef& node);

}  // namespace intarsia
