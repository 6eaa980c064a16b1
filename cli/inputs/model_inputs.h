// Inputs of a model or program, known without compiling or running it.
#pragma once

#include <intarsia/intarsia_compile.hpp>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "cli/inputs/inputs.h"
#include "cli/inputs/npy.h"

/// Returns the inputs of a program, or of a model with the shapes that a compile would give it; those of the
/// first function if there are several.
std::vector<intarsia::Argument> describe_inputs(const std::string& path,
                                                const intarsia::CompileOptions& options);

/// Values of some inputs of a model or program.
struct GivenInputs {
  std::list<Array> arrays;                         // own the memory
  std::vector<intarsia::NamedView> views;          // one for each array
  std::map<std::string, std::string> conversions;  // how pictures were converted, by input
};

/// Reads the values that `-i` gives for these inputs; an array may be of another input.
GivenInputs read_given_inputs(const InputOptions& options, const std::vector<intarsia::Argument>& inputs);
/// Reads the values that `-i` gives.
GivenInputs read_given_inputs(const InputOptions& options, const std::string& path,
                              const intarsia::CompileOptions& compile);
