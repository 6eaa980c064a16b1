// Matching of the bodies of Keras' recurrent loops.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/function_matcher.h"

namespace intarsia {

/// Role of each argument of the loop's body. Apart from counters, only list, h and c change from step to
/// step.
struct CellMatch {
  std::string op;          // "LSTM" or "GRU"
  int time = -1;           // counts the steps
  int elements = -1;       // list of inputs
  int list = -1;           // list of outputs
  bool last_only = false;  // whether each step writes element 0
  int h = -1, c = -1;
  bool reset_after = false;                           // variant of a GRU
  int kernel = -1, recurrent_kernel = -1, bias = -1;  // bias is -1 if the layer has none
};

/// Matches the body of a recurrent loop, where s is the logistic function; nullopt if the body is anything
/// else.
///   LSTM: i, f, g, o = split(x W + h R + b); c' = s(f) c + s(i) tanh(g); h' = s(o) tanh(c')
///   GRU, reset_after: z, r, n = split(x W + b0) with split(h R + b1); h' = z h + (1 - z) tanh(n + r n')
///   GRU: z, r, n = split(x W + b), z and r with h R[0:2]; h' = z h + (1 - z) tanh(n + (r h) R[2])
std::optional<CellMatch> match_cell(const FunctionMatcher& body);

/// Returns the values that a loop's counters (arguments that start at zero and grow by one) must stay under,
/// each a constant or an argument; nullopt if the condition tests anything else.
std::optional<std::vector<Term>> match_bounds(const FunctionMatcher& condition,
                                              const std::vector<int>& counters);

/// Finds the arguments that grow by one in each step.
std::vector<int> find_counters(const FunctionMatcher& body);

}  // namespace intarsia
