// Writing of functions with other nodes and arguments.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tensorflow/messages.h"

namespace intarsia {

/// Name of the argument, and of the nodes of the model's own graph, that hold the program's path.
inline constexpr const char* program_name = "intarsia_program";

/// What becomes of a function. All else stays as in the message it was read from.
struct FunctionEdit {
  const tensorflow::FunctionDef& original;
  std::vector<std::string> nodes;              // messages of all nodes
  std::map<std::string, std::string> returns;  // as FunctionDef::returns
  std::map<std::string, std::string> control_returns;
  std::set<size_t> without = {};  // numbers of arguments that go away
  bool takes_program = false;     // as the last argument
  bool returns_program = false;   // as the last result: it is the body of a loop
};

/// Returns the message of the function.
std::string write_function_edit(const FunctionEdit& edit);

}  // namespace intarsia
