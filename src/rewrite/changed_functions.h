// Functions of a SavedModel that get a program as one more argument.
#pragma once

#include "rewrite/body.h"

namespace intarsia {

/// Rewritten functions, and those that call them, directly or through others.
class ChangedFunctions {
 public:
  ChangedFunctions(const tensorflow::GraphDef& graph, const std::vector<Body>& bodies);

  bool contains(const std::string& function) const { return changed_.contains(function); }
  /// Returns the message of a function that is changed.
  Result<std::string> write(const tensorflow::FunctionDef& function) const;
  /// Gives a call of a changed function the program, another input.
  ///   f(x, ^wait) -> f(x, program, ^wait)
  Result<std::string> write_call(const tensorflow::NodeDef& call, const std::string& program) const;
  /// Checks whether the node calls a changed function.
  bool is_call(const tensorflow::NodeDef& node) const;

 private:
  const tensorflow::GraphDef& graph_;
  std::map<std::string, const Body*> bodies_;
  std::set<std::string> changed_;
};

}  // namespace intarsia
