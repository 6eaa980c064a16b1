// What a model or program takes, before it is compiled or run.
#pragma once

#include <intarsia/intarsia_compile.hpp>
#include <string>
#include <vector>

/// Inputs of a program, or of a model with the shapes that a compile would give them; of several functions
/// the first.
std::vector<intarsia::Argument> describe_inputs(const std::string& path,
                                                const intarsia::CompileOptions& options);
