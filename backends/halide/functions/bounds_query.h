// Halide's bounds queries: what a function reads of its inputs to compute outputs of given sizes.
#pragma once

#include <vector>

#include "backends/halide/abi/function_metadata.h"
#include "base/code/loaded_code.h"
#include "base/result.h"

namespace intarsia::halide {

/// Coordinates along an axis of an argument.
struct Interval {
  int64_t min = 0, extent = 0;
  int64_t end() const { return min + extent; }
  bool operator==(const Interval&) const = default;
};

/// Intervals by argument and axis, the innermost first, as Halide counts.
using Intervals = std::vector<std::vector<Interval>>;

/// Function in code that this process has loaded.
struct QueriedFunction {
  const FunctionMetadata* about = nullptr;
  FunctionCode code = nullptr;

  /// Finds the function whose symbols begin with `symbol`.
  static Result<QueriedFunction> find(const LoadedCode& code, const std::string& symbol);
  /// Returns its arguments, without the user context.
  std::span<const FunctionArgument> arguments() const {
    return {about->arguments + 1, static_cast<size_t>(about->argument_count - 1)};
  }
  /// Returns what the function accesses of arguments that are given as `given`; what it writes may be more
  /// than that, or fixed. Errors: the function fails.
  Result<Intervals> query(const Intervals& given) const;
};

}  // namespace intarsia::halide
