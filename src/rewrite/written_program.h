// Programs that a rewritten model holds.
#pragma once

#include <fmt/format.h>

#include <string>

namespace intarsia {

/// Program as a rewritten model names it.
struct WrittenProgram {
  std::string name;     // of functions' arguments, and of nodes of the model's own graph
  std::string content;  // file among the assets, or the bytes in a frozen GraphDef
};

/// Returns the name of a program: the first is that of the model's compiled parts.
inline std::string program_name(size_t number) {
  return number == 0 ? "intarsia_program" : fmt::format("intarsia_program_{}", number);
}

/// Returns how nodes read the program: an argument of a function, or a tensor of the model's own graph.
inline std::string program_input(const std::string& program, bool in_function) {
  return in_function ? program : program + "/Read";
}

}  // namespace intarsia
