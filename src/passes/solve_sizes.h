// Solving for the sizes that a model leaves open, from the shapes that a user gives.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/dim.h"
#include "base/shape.h"

namespace intarsia {

/// A size of an input as the model writes it, and the number given for it.
struct GivenSize {
  std::string input;
  size_t axis = 0;
  Dim size;  // an expression
  int64_t number = 0;
  std::string shape;  // text of the whole shape given for the input
};

/// Value of a symbol, and the given size that determines it; null for a default.
struct SolvedSize {
  int64_t value = 0;
  const GivenSize* from = nullptr;
};

/// Returns the symbols that the given sizes determine: first sizes that are a symbol, then, repeatedly, sizes
/// with a single open symbol, as a multiple of it plus a number.
///   past = 5, 2*past+seq = 12   ->   past=5, seq=2
/// Unsolvable sizes are left to check_sizes. The result points into `given`. Error: no size of 0 or more
/// yields the number.
Result<std::map<std::string, SolvedSize>> solve_sizes(const std::vector<GivenSize>& given);

/// Checks the given sizes with these symbols. Error: a given size is another number; the message names both
/// and their origin.
Status check_sizes(const std::vector<GivenSize>& given, const std::map<std::string, SolvedSize>& symbols);

}  // namespace intarsia
