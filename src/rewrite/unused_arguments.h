// Handles that functions of a SavedModel take in vain.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewrite/inner_functions.h"
#include "tensorflow/messages.h"
#include "tensorflow/object_graph.h"

namespace intarsia {

/// Finder of handles that functions take in vain. All that run one function, and all functions that one loop
/// or branch runs, agree on what they can do without.
class UnusedArguments {
 public:
  /// Refers to the graph, which outlives it.
  UnusedArguments(const tensorflow::GraphDef& graph, const tensorflow::ObjectGraph& objects);

  /// Returns the numbers of handles that the function does not use, and that nothing need give it.
  std::set<size_t> of(const std::string& function) const;
  /// Returns the numbers of arguments that the functions which a node runs can do without.
  std::set<size_t> of_run_by(const tensorflow::NodeDef& node) const;
  /// Checks for the body of a loop, which returns what it takes: without an argument it lacks a result, too.
  bool is_loop_body(const std::string& function) const { return bodies_.contains(function); }

 private:
  void note_runs(const tensorflow::NodeDef& node, bool in_function);
  void note_uses(const std::string& name, const tensorflow::FunctionDef& function);
  void note_input(const tensorflow::NodeDef& node, size_t number, const FunctionArgument& given);
  void note_result_of_loop(const tensorflow::NodeDef& loop, const std::string& reference);
  void link(const std::vector<std::string>& functions);
  void keep_all(const std::string& function);
  void keep_inputs(const std::string& name, const tensorflow::FunctionDef& function,
                   const tensorflow::ObjectGraph& objects);

  const tensorflow::GraphDef& graph_;
  std::set<std::string> bodies_, others_;  // functions that loops run as their bodies; that others run
  std::map<FunctionArgument, std::vector<FunctionArgument>> givers_;  // what is used if this is used
  std::set<FunctionArgument> used_;
};

/// Writes a node whose functions do without these arguments: without its inputs for them.
Result<std::string> write_without_arguments(tensorflow::NodeDef node, const std::set<size_t>& numbers);

/// Returns the function's reference "loop:output:3" to an output of a loop that does without some of them.
std::string renumber_output(const std::string& reference, const std::set<size_t>& gone);

}  // namespace intarsia
