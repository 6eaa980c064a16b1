// Sizes as texts, for attributes and messages between our own programs.
#pragma once

#include <string>
#include <vector>

#include "base/shape.h"

namespace intarsia::halide {

/// Prints a size that is known: "3", "2*seq+1", with names of symbols in quotes where they are not words.
std::string print_size(const Dim& size);
std::vector<std::string> print_sizes(const SymbolicShape& sizes);

/// Reads a size that print_size printed; aborts on other text.
Dim parse_size(const std::string& text);
SymbolicShape parse_sizes(const std::vector<std::string>& texts);

}  // namespace intarsia::halide
