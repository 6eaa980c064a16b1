// Which numbers the sizes that a model leaves open are, by the shapes that a user gives.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/dim.h"
#include "base/shape.h"

namespace intarsia {

/// A size of an input as the model writes it, and the shape that is given for the input.
struct GivenSize {
  std::string input;
  size_t axis = 0;
  Dim size;  // an expression
  Shape shape;
  int64_t number() const { return shape[axis]; }
};

/// Where the number of a symbol is from: the given size that determines it; null: it is a default.
struct SolvedSize {
  int64_t value = 0;
  const GivenSize* from = nullptr;
};

/// The symbols that the given sizes determine: those that are one, and, as often as one more is known, those
/// that are alone in a multiple plus a number.
///   past = 5, 2*past+seq = 12   ->   past=5, seq=2
/// What cannot be solved is left to check_sizes. The result points into `given`. Error: no size of 0 or more
/// gives the number.
Result<std::map<std::string, SolvedSize>> solve_sizes(const std::vector<GivenSize>& given);

/// Error: a given size is another number with these symbols. It names both, and what they follow from.
Status check_sizes(const std::vector<GivenSize>& given, const std::map<std::string, SolvedSize>& symbols);

}  // namespace intarsia
