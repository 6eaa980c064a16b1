// Writing of functions with other nodes and arguments.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tensorflow/messages.h"

namespace intarsia {

/// What becomes of a function. All else stays as in the message it was read from.
struct FunctionEdit {
  const tensorflow::FunctionDef& original;
  std::vector<std::string> nodes;              // messages of all nodes
  std::map<std::string, std::string> returns;  // as FunctionDef::returns
  std::map<std::string, std::string> control_returns;
  std::set<size_t> without = {};           // numbers of arguments that go away
  std::set<size_t> without_results = {};   // and of results
  std::vector<std::string> programs = {};  // names of arguments that come last
  bool returns_programs = false;           // as the last results, too: it is the body of a loop
};

/// Returns the message of the function.
std::string write_function_edit(const FunctionEdit& edit);

}  // namespace intarsia
