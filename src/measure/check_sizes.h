// Sizes at which a check compares a program whose sizes are open.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/requested_shape.h"
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

/// Returns the open sizes that inputs, and shapes of others, tell, by symbol; those that they do not tell are
/// the sizes that the program was measured with. Errors: no such input, one with both, a size that is not a
/// number or not the input's, two shapes that disagree.
Result<std::vector<int64_t>> sizes_of_shapes(const fbs::FunctionT& function,
                                             const std::vector<NamedValue>& inputs,
                                             const std::map<std::string, RequestedShape>& shapes);

/// Returns sizes to compare at beside `tuned`, those that the program was measured with: all sizes 1, 2, and
/// 7 or the odd number next to it, each as near to that as its range allows; then the ends of ranges. Ends
/// that take too long or too much memory are left out, with the reason. A combination comes once.
///   batch: 1 to 4, seq: any size, tuned 1, 1   ->   2, 2; 3, 7; 4, 1
std::vector<SizesToCheck> choose_sizes_to_check(const fbs::FunctionT& function,
                                                const std::vector<int64_t>& tuned);

}  // namespace intarsia
