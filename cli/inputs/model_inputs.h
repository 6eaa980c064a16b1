// Inputs of a model or program, known without compiling or running it.
#pragma once

#include <intarsia/intarsia_compile.hpp>
#include <string>
#include <vector>

/// Returns the inputs of a program, or of a model with the shapes that a compile would give it; those of the
/// first function if there are several.
std::vector<intarsia::Argument> describe_inputs(const std::string& path,
                                                const intarsia::CompileOptions& options);
