// Sizes at which a check compares a program whose sizes are open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"
#include "runtime/named_tensor.h"

namespace intarsia {

/// Combination of a function's open sizes.
struct SizesToCheck {
  std::vector<int64_t> sizes;  // by symbol
  std::string why_not = {};    // reason why it is left out; empty: it is to be compared
};

/// Returns the open sizes that inputs of these shapes tell, by symbol. Error: one is out of its range.
Result<std::vector<int64_t>> sizes_of_inputs(const fbs::FunctionT& function,
                                             const std::vector<NamedValue>& inputs);

/// Returns sizes to compare at beside `tuned`, those that the program was measured with: all sizes 1, 2, and
/// 7 or the odd number next to it, each as near to that as its range allows; then the ends of ranges. Ends
/// that take too long or too much memory are left out, with the reason. A combination comes once.
///   batch: 1 to 4, seq: any size, tuned 1, 1   ->   2, 2; 3, 7; 4, 1
std::vector<SizesToCheck> choose_sizes_to_check(const fbs::FunctionT& function,
                                                const std::vector<int64_t>& tuned);

}  // namespace intarsia
