// Functions of a SavedModel that get programs as more arguments.
#pragma once

#include "rewrite/body.h"

namespace intarsia {

/// Rewritten functions, those that run them, directly or through others, and those that a loop or branch runs
/// besides them.
class ChangedFunctions {
 public:
  /// `programs`: names of the arguments.
  ChangedFunctions(const tensorflow::GraphDef& graph, const std::vector<Body>& bodies,
                   std::vector<std::string> programs = {});

  /// Checks that all can be given a program. Error: something runs one that has no inputs of its own to give.
  Status check() const;

  /// Returns the body of a rewritten function; null for others.
  const Body* body_of(const std::string& function) const;
  bool contains(const std::string& function) const { return changed_.contains(function); }
  /// Returns the message of a function that is changed.
  Result<std::string> write(const tensorflow::FunctionDef& function) const;
  /// Writes a node of a function, or of the model's own graph, which gets the programs as more inputs if it
  /// runs a changed function.
  ///   f(x, ^wait) -> f(x, program, ^wait)
  Result<std::string> write_node(const tensorflow::NodeDef& node, bool in_function) const;

 private:
  bool runs_changed(const tensorflow::NodeDef& node) const;
  void add_users();
  bool add_user(const std::string& user, const tensorflow::NodeDef& node);

  const tensorflow::GraphDef& graph_;
  const std::vector<std::string> programs_;
  std::map<std::string, const Body*> bodies_;
  std::set<std::string> changed_, loop_bodies_;
};

}  // namespace intarsia
